#!/bin/bash
# private-data: consumers in the kernel with a peer (tests/verbs/private_data.cc) that accepts,
# rejects or requests connections with private data that are absent, too short, too long or random:
# the clients of NFS, iSER, NVMe and SMB Direct, and their servers, which must serve a proper client
# afterwards. KASAN in the debug kernel reports reads beyond the private data. All consumers run in
# the initial namespace, since most work in no other.
# Timeout: 900
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storage.sh"
. "$(dirname "$0")/nvme.sh"
. "$(dirname "$0")/smb.sh"

PEER=$(realpath "$(dirname "$0")/../../build/verbs/private_data")
SEED=${KWARP_FUZZ_SEED:-$RANDOM}
export SEED
NFSD=/proc/fs/nfsd
EXPORT=$WORK/export
MOUNT=$WORK/mount
LIO=/sys/kernel/config/target
IQN=iqn.2026-11.test:kwarp
TPG=$LIO/iscsi/$IQN/tpgt_1
MAGIC=f6ab0e18 # the first bytes of rpcrdma's private data

# beyond DATA...: prints DATA, which are so short that the consumer reads beyond them, with any
# iWARP driver (see kwarp_up_event()). Prints nothing in the debug kernel, which would report the
# read, unless BEYOND=1.
beyond() {
	[ -z "${BEYOND:-}" ] && [ -e /sys/kernel/debug/kmemleak ] || echo "$*"
}

# ---- clients ----

# meets NAME PORT accept|reject DATA COMMAND...: cases: COMMAND, which uses a client in the kernel,
# gets that answer, and exits, because the peer rejects a second attempt. We stop the peer after the
# client has given up, because iw_cm leaks the private data of a request without a listener.
meets() {
	local name="$1, $3: $4" port=$2 event=ESTABLISHED
	[ "$3" = accept ] || event='^answer'
	PORT=$port server peer on_b "$PEER" server "$IP_B" "$port" "$3" "$4" || {
		report 1 "$name: the peer listens" "$WORK/peer.log"
		return
	}
	shift 4
	"$@" >"$WORK/client.log" 2>&1 </dev/null &
	LOAD=$!
	ok "$name" wait_for grep -aq "$event" "$WORK/peer.log"
	ok "$name: the client gives up" wait_for ended || kill -9 "$LOAD"
	ok "$name: the connection is gone" wait_for no_qp
	stop peer
}

nfs_client() {
	local options=vers=4.2,proto=rdma,port=20049,soft,retrans=1,retry=0
	mount -t nfs -o "$options,timeo=$(patience 100)" "$IP_B:/" "$MOUNT"
}

iser_client() { iscsiadm -m discovery -t st -p "$IP_B:3260" -I iser; }

nvme_client() { nvme connect -t rdma -a "$IP_B" -s 4420 -n "$NQN" -i 1; }

smb_client() { smb_mount "$MOUNT"; }

iscsid_up() {
	mkdir -p /etc/iscsi /run/lock/iscsi /var/lib/iscsi
	echo "InitiatorName=iqn.2026-11.test:initiator" >/etc/iscsi/initiatorname.iscsi
	sed -i -e 's/^iscsid.startup.*//' /etc/iscsi/iscsid.conf
	# Discovery shall give up after one attempt.
	echo 'discovery.sendtargets.reopen_max = 0' >>/etc/iscsi/iscsid.conf
	# iscsid kills its whole process group when it is stopped, so we give it a group of its own.
	server iscsid on_a setsid iscsid -f -d 2
	wait_for iscsiadm -m iface
}

# admin_timeout SECONDS: sets how long the host waits for the answer to an admin command
admin_timeout() { echo "$1" >/sys/module/nvme_core/parameters/admin_timeout; }

clients() {
	local data
	for data in - +4 +8 ${MAGIC}0101+2 ${MAGIC}0101+249 ${MAGIC}+251 $(beyond +1 $MAGIC); do
		meets rpcrdma 20049 accept "$data" nfs_client
	done
	for data in - +255; do
		meets rpcrdma 20049 reject "$data" nfs_client
	done

	ok 'the initiator runs' iscsid_up
	for data in - +1 +255; do
		meets ib_iser 3260 accept "$data" iser_client
	done
	for data in - +255; do
		meets ib_iser 3260 reject "$data" iser_client
	done

	must admin_timeout "$(patience 1)"
	for data in - +255; do
		meets nvme-rdma 4420 accept "$data" nvme_client
	done
	for data in - +1 +4 +255; do
		meets nvme-rdma 4420 reject "$data" nvme_client
	done
	must admin_timeout 60

	[ -n "$SMB" ] || return
	for data in - +4 +8 0000000000000000 +255; do
		meets cifs 5445 accept "$data" smb_client
	done
	for data in - +8; do
		meets cifs 5445 reject "$data" smb_client
	done
}

# ---- servers ----

# asked NAME PORT DATA...: cases: a server in the kernel answers a request with each of these data
asked() {
	local name=$1 port=$2 data
	shift 2
	for data; do
		ok "$name, request: $data" on_a "$PEER" client "$IP_B" "$port" "$data"
	done
	# ksmbd keeps connections that have not negotiated until it stops.
	[ "$name" = ksmbd ] || ok "$name: the connections are gone" wait_for no_qp
}

nfs_up() {
	mkdir -p "$EXPORT" /run/rpcbind /run/sendsigs.omit.d || return 1
	mount -t tmpfs -o size=64M export "$EXPORT" && mount -t nfsd nfsd "$NFSD" || return 1
	server rpcbind on_b rpcbind -f -w
	wait_for rpcinfo || return 1
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 "$IP_A:$EXPORT" || return 1
	server mountd on_b rpc.mountd -F
	wait_for rpcinfo -t "$IP_B" mountd 3 || return 1
	echo 10 >"$NFSD/nfsv4leasetime" && echo 10 >"$NFSD/nfsv4gracetime" &&
		echo 'rdma 20049' >"$NFSD/portlist" && echo 2 >"$NFSD/threads"
}

nfs_down() {
	echo 0 >"$NFSD/threads" && exportfs -ua && stop mountd && stop rpcbind &&
		umount "$NFSD" && umount "$EXPORT"
}

# iser_up: makes a target without a disk. LIO opens the TCP socket in the namespace of the process
# that makes the portal, and the RDMA listener on the same port in the initial namespace.
iser_up() {
	mkdir -p "$LIO/iscsi" && mkdir -p "$TPG" && ip netns add portal &&
		nsenter --net=/run/netns/portal mkdir "$TPG/np/$IP_B:3260" &&
		ip netns del portal && echo 1 >"$TPG/np/$IP_B:3260/iser" &&
		echo 0 >"$TPG/attrib/authentication" && echo 1 >"$TPG/attrib/generate_node_acls" &&
		echo 1 >"$TPG/enable" && wait_for listening hostB 3260
}

iser_down() {
	echo 0 >"$TPG/enable" && echo 0 >"$TPG/np/$IP_B:3260/iser" &&
		rmdir "$TPG/np/$IP_B:3260" "$TPG" "$LIO/iscsi/$IQN" "$LIO/iscsi"
}

nvme_up() { subsystem_up && port_up 1 "$IP_B"; }
nvme_down() { port_down 1 && subsystem_down; }

# same_file: true if a file that is written to the mount is the same on the server
same_file() {
	head -c 300000 /dev/urandom >"$WORK/file" && cp "$WORK/file" "$MOUNT/file" &&
		same_data "$WORK/file" "$EXPORT/file"
}

servers() {
	ok 'svcrdma listens' nfs_up
	# shellcheck disable=SC2046 # words
	asked svcrdma 20049 - +4 +8 ${MAGIC}0101+2 ${MAGIC}0101+249 ${MAGIC}+251 \
		$(beyond +1 $MAGIC)
	ok 'svcrdma and rpcrdma: mount' nfs_client
	ok 'svcrdma and rpcrdma: the server has the file' same_file
	ok 'svcrdma and rpcrdma: unmount' umount "$MOUNT"
	ok 'svcrdma stops' nfs_down

	ok 'ib_isert listens' iser_up
	asked ib_isert 3260 - +1 +255
	ok 'ib_isert and ib_iser: discovery' iser_client
	has 'ib_isert and ib_iser: the target is found' "$IQN"
	ok 'ib_isert stops' iser_down

	ok 'nvmet-rdma listens' nvme_up
	# an unknown format; then the right format with several sizes of the admin queue
	# shellcheck disable=SC2046 # words
	asked nvmet-rdma 4420 - 01+1 01+30 01+31 01+254 00000000+28 00000000+251 \
		$(beyond +1 0000)
	ok 'nvmet-rdma and nvme-rdma: connect' nvme_client
	ok 'nvmet-rdma and nvme-rdma: the disk is there' wait_for disk || bail 'no disk'
	ok 'nvmet-rdma and nvme-rdma: written data read back unchanged' \
		write_and_compare "$(disk)" 1M 64k
	ok 'nvmet-rdma and nvme-rdma: disconnect' nvme disconnect -n "$NQN"
	ok 'nvmet-rdma stops' nvme_down

	[ -n "$SMB" ] || return
	ok 'ksmbd listens' smb_up "$EXPORT" 64M
	asked ksmbd 5445 - +4 +8 0000000000000000 +255
	ok 'ksmbd and cifs: mount' smb_client
	ok 'ksmbd and cifs: the server has the file' same_file
	ok 'ksmbd and cifs: unmount' umount "$MOUNT"
	ok 'ksmbd stops' smb_down "$EXPORT"
	ok 'ksmbd: the connections are gone' wait_for no_qp
}

# offered MODULE PREFIX: true if the module was built with RDMA, and therefore has functions whose
# names begin with PREFIX
offered() {
	modprobe -q "$1" && grep -q " $2.*\[$1\]" /proc/kallsyms
}

echo "# seed: $SEED"
hosts_here
for module in rpcrdma nfsd nfs target_core_mod iscsi_target_mod ib_isert ib_iser nvmet-rdma \
	nvme-rdma; do
	must modprobe $module
done
SMB=
if offered ksmbd smb_direct_ && offered cifs smbd_; then
	SMB=1
else
	! in_uml || bail 'the debug kernel has no SMB Direct'
	skip 'SMB Direct' 'this kernel has none'
fi
[ -n "$(beyond any)" ] ||
	skip 'data shorter than what rpcrdma, svcrdma and nvmet-rdma read' 'KASAN reports them'
mkdir -p "$MOUNT"
clients
servers
stop iscsid
ok 'no object is left' wait_for no_object
ok 'link delete' rdma link delete "$DEV_A"
ok 'link delete, the other' rdma link delete "$DEV_B"
must modprobe -r ib_isert
must modprobe -r ib_iser
must modprobe -r nvme-rdma
must modprobe -r nvmet-rdma
[ -z "$SMB" ] || must modprobe -r ksmbd
ok 'module unloads' wait_for rmmod kwarp
done_testing
