#!/bin/bash
# nfs: NFS over RDMA with the kernel's server in hostB and its client in hostA: versions 3, 4.1 and
# 4.2, long reads and writes (RDMA Read and Write), file trees, a device that is removed and added
# again under load.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storage.sh"

EXPORT=$WORK/export
MOUNT=$WORK/mount
NFSD=/proc/fs/nfsd

# net_a COMMAND...: runs COMMAND in the network of host A, and, unlike on_a, in our mount namespace
net_a() { nsenter --net=/run/netns/hostA "$@"; }
net_b() { nsenter --net=/run/netns/hostB "$@"; }

# daemon NAME COMMAND...: starts a daemon in hostB
daemon() {
	local name=$1
	shift
	net_b "$@" >"$WORK/$name.log" 2>&1 </dev/null &
	SERVERS[$name]=$!
}

# server_up: starts the server. The file system nfsd belongs to the network namespace of the process
# that mounts it, so mount it in hostB.
server_up() {
	mkdir -p "$EXPORT" "$MOUNT" /run/rpcbind /run/sendsigs.omit.d || return 1
	mount -t tmpfs -o size=256M export "$EXPORT" && net_b mount -t nfsd nfsd "$NFSD" || return 1
	daemon rpcbind rpcbind -f -w
	wait_for net_b rpcinfo || return 1
	net_b exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 "$IP_A:$EXPORT" ||
		return 1
	daemon mountd rpc.mountd -F
	wait_for net_b rpcinfo -t "$IP_B" mountd 3 || return 1
	# A new server delays opens for this time, in which clients may reclaim locks.
	echo 10 >"$NFSD/nfsv4leasetime" && echo 10 >"$NFSD/nfsv4gracetime" &&
		echo 1048576 >"$NFSD/max_block_size" && echo 'rdma 20049' >"$NFSD/portlist" &&
		echo 4 >"$NFSD/threads" || return 1
	grep . "$NFSD/portlist"
}

# stays_away: makes the client's next attempts to connect fail. In the kernels that we test, svcrdma
# never frees a connection request that arrives after its last thread has ended; the cm_id stays,
# and the removal of the device waits for ever.
stays_away() {
	local mine port protocol=${LLP:-tcp}
	if [ "$protocol" = sctp ]; then
		mine=$(net_a awk '$13 == 20049 { print $12 }' /proc/net/sctp/assocs)
	else
		mine=$(net_a ss -Htn 'dport = :20049' | awk '{ sub(".*:", "", $4); print $4 }')
	fi
	[ -n "$mine" ] || return 1
	# There may be two, if an old connection is still ending.
	for port in $mine; do
		ip -n hostA rule add pref 10 ipproto "$protocol" sport "$port" lookup main ||
			return 1
	done
	ip -n hostA rule add pref 11 ipproto "$protocol" dport 20049 prohibit
}

server_down() {
	echo 0 >"$NFSD/threads" && net_b exportfs -ua && stop mountd && stop rpcbind &&
		umount "$NFSD" && umount "$EXPORT"
}

# nfs_mount VERSION [OPTION,...]: mounts the export by RDMA
nfs_mount() {
	local path=/ options=
	case $1 in
	3) path=$EXPORT options=,nolock,mountproto=tcp ;;
	esac
	net_a mount -t nfs -o \
		"vers=$1,proto=rdma,port=20049,rsize=1048576,wsize=1048576${2:+,$2}$options" \
		"$IP_B:$path" "$MOUNT" &&
		grep " $MOUNT nfs" /proc/mounts | tee "$WORK/mounted"
}

# hard_mount: makes a mount that waits for its server. In a namespace other than the initial one,
# newer clients give up when the network is unreachable, unless an option says otherwise; older
# clients do not give up, and do not know the option.
hard_mount() {
	nfs_mount 4.2 hard,fatal_neterrors=none || nfs_mount 4.2 hard
}

# by_rdma VERSION: true if the mount has that version, uses RDMA and transfers of 1 MiB
by_rdma() {
	grep "vers=$1,.*rsize=1048576,wsize=1048576,.*proto=rdma,port=20049" "$WORK/mounted"
}

# round VERSION: runs all cases of one version of NFS
round() {
	ok "$1: mount" nfs_mount "$1"
	ok "$1: by RDMA, 1 MiB at once" by_rdma "$1"
	tree_goes_round "$MOUNT" "$EXPORT" "$1: "
	[ "$1" = 4.1 ] || fio_round "$1"
	tree_goes "$MOUNT" "$EXPORT" "$1: "
	ok "$1: unmount" umount "$MOUNT"
	ok "$1: the connection is gone" wait_for no_qp
}

fio_round() {
	ok "$1: fio, small blocks" fio_verify "$MOUNT/f" 2M --rw=randwrite --bs=4k
	ok "$1: fio, blocks of 1 MiB" fio_verify "$MOUNT/f" 16M --rw=write --bs=1M
	ok "$1: fio, reads and writes of all sizes" fio_verify "$MOUNT/f" 8M --rw=randrw \
		--bsrange=4k-256k
	ok "$1: fio, through the page cache" fio_verify "$MOUNT/g" 8M --rw=randwrite --bs=32k \
		--direct=0 --end_fsync=1 --invalidate=1
	rm "$MOUNT/f" "$MOUNT/g"
}

# taken_away HOST DEVICE NETDEV: the device is removed under load and added again; the writer, which
# waits meanwhile, must continue
taken_away() {
	ok "$2 removed: load" load "$MOUNT/big"
	ok "$2 removed: rdma link delete" rdma link delete "$2"
	ok "$2 removed: the writer waits" running
	ok "$2 removed: the device is added again" rdma_link "$1" "$2" kwarp "$3"
	ok "$2 removed: the writer succeeds" load_ends_well
	drop_caches
	ok "$2 removed: the file is complete" same_data "$MOUNT/big" "$EXPORT/big"
	rm "$MOUNT/big"
}

hosts_up
must modprobe rpcrdma
must modprobe nfsd
must modprobe nfs
ok 'server listens' server_up
has 'server listens: by RDMA' '^rdma 20049$'
for version in 4.2 4.1 3; do
	round $version
done

ok 'mount, hard' hard_mount
taken_away hostA "$DEV_A" vA
taken_away hostB "$DEV_B" vB
ok 'unmount' umount "$MOUNT"

# With soft, programs get an error when the server cannot be reached.
soft=soft,timeo=$(patience 40),retrans=1 # tenths of a second
ok 'mount, soft' nfs_mount 4.1 "$soft"
echo something >"$WORK/something"
ok 'a file is written' cp "$WORK/something" "$MOUNT/file"
ok 'link delete, mounted' rdma link delete "$DEV_A"
drop_caches
fails 'reads end with an error' dd if="$MOUNT/file" of=/dev/null iflag=direct
ok 'unmount without a device' umount -f -l "$MOUNT"
ok 'link add' rdma_link hostA "$DEV_A" kwarp vA

ok 'mount once more' nfs_mount 4.2 "$soft"
ok 'written data is there' same_data "$WORK/something" "$MOUNT/file"
ok 'the client does not connect again' stays_away
ok 'server stops with a client' server_down
umount -f -l "$MOUNT"
ok 'no object is left' wait_for no_object
ok 'link delete' rdma link delete "$DEV_A"
ok 'link delete, the other' rdma link delete "$DEV_B"
ok 'module unloads' wait_for rmmod kwarp
done_testing
