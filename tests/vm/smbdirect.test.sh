#!/bin/bash
# smbdirect: SMB Direct, the kernel's server (ksmbd) and its client. Debian's kernel has neither;
# the suite is for user-mode Linux. ksmbd's tools talk to it in the initial namespace only.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storage.sh"

SHARE=$WORK/share
MOUNT=$WORK/mount
CONF=$WORK/ksmbd.conf
USERS=$WORK/users

# offered MODULE PREFIX: it was configured with RDMA, so it has functions whose names begin with
# PREFIX
offered() {
	modprobe "$1" && grep -q " $2.*\[$1\]" /proc/kallsyms
}

server_up() {
	mkdir -p "$SHARE" "$MOUNT" && mount -t tmpfs -o size=256M share "$SHARE" || return 1
	cat >"$CONF" <<-CONF
		[global]
		    netbios name = KWARP
		    server signing = disabled
		    smb3 encryption = disabled
		    map to guest = never
		[share]
		    path = $SHARE
		    read only = no
		    oplocks = no
		    force user = root
		    force group = root
	CONF
	: >"$USERS"
	ksmbd.adduser -a -p secret -C "$CONF" -P "$USERS" tester || return 1
	server mountd on_b ksmbd.mountd -n -C "$CONF" -P "$USERS"
	wait_for listening hostB 5445
}

server_down() {
	ksmbd.control -s
	stop mountd
	wait_for refused listening hostB 5445 && umount "$SHARE"
}
refused() { ! "$@"; }

share_mount() {
	local options=vers=3.1.1,username=tester,password=secret,soft,cache=none
	options+=,echo_interval=$(patience 5)
	mount -t cifs "//$IP_B/share" "$MOUNT" -o "rdma,$options${1:+,$1}" || return 1
	grep " $MOUNT cifs" /proc/mounts
}

if ! offered ksmbd smb_direct_ || ! offered cifs smbd_; then
	skip 'SMB Direct' \
		"this kernel has none: CONFIG_SMB_SERVER_SMBDIRECT, CONFIG_CIFS_SMB_DIRECT"
	done_testing
fi

hosts_here
ok 'server listens' server_up || bail 'no server'
ok 'mount' share_mount || bail 'no share'
has 'mount: by RDMA' ',rdma,'
tree_goes_round "$MOUNT" "$SHARE" ''
ok 'fio, small blocks' fio_verify "$MOUNT/f" 2M --rw=randwrite --bs=4k
ok 'fio, blocks of 1 MiB' fio_verify "$MOUNT/f" 16M --rw=write --bs=1M
ok 'fio, reads and writes of all sizes' fio_verify "$MOUNT/f" 8M --rw=randrw --bsrange=4k-256k
rm "$MOUNT/f"
tree_goes "$MOUNT" "$SHARE" ''
ok 'unmount' umount "$MOUNT"
ok 'the connection is gone' wait_for no_qp

ok 'device removed: mount' share_mount
ok 'device removed: load' load "$MOUNT/big"
ok 'device removed: rdma link delete' rdma link delete "$DEV_A"
ok 'device removed: the load ends' load_is_over
ok 'device removed: it is added again' rdma_link hostA "$DEV_A" "$DRIVER_A" vA
ok 'device removed: the share is back' wait_for touch "$MOUNT/new"
ok 'device removed: new data read back unchanged' write_and_compare "$MOUNT/new" 4M 1M
ok "server's device removed: load" load "$MOUNT/big"
ok "server's device removed: rdma link delete" rdma link delete "$DEV_B"
ok "server's device removed: the load ends" load_is_over
ok "server's device removed: it is added again" rdma_link hostB "$DEV_B" "$DRIVER_B" vB
ok "server's device removed: the share is back" wait_for touch "$MOUNT/newer"
ok 'unmount again' umount "$MOUNT"

ok 'server stops' server_down
ok 'no object is left' wait_for no_object
ok 'link delete' rdma link delete "$DEV_A"
ok 'link delete, the other' rdma link delete "$DEV_B"
must modprobe -r ksmbd
ok 'module unloads' wait_for rmmod kwarp
done_testing
