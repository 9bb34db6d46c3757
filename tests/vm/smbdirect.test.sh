#!/bin/bash
# smbdirect: SMB Direct with the kernel's server (ksmbd) and client. The suite runs in user-mode
# Linux, because Debian's kernel has neither. The tools of ksmbd reach it in the initial namespace
# only.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storage.sh"
. "$(dirname "$0")/smb.sh"

SHARE=$WORK/share
MOUNT=$WORK/mount

# offered MODULE PREFIX: true if the module was built with RDMA, and therefore has functions whose
# names begin with PREFIX
offered() {
	modprobe "$1" && grep -q " $2.*\[$1\]" /proc/kallsyms
}

share_mount() {
	smb_mount "$MOUNT" "${1:-}" && grep " $MOUNT cifs" /proc/mounts
}

if ! offered ksmbd smb_direct_ || ! offered cifs smbd_; then
	! in_uml || bail 'the debug kernel has no SMB Direct'
	skip 'SMB Direct' \
		"this kernel has none: CONFIG_SMB_SERVER_SMBDIRECT, CONFIG_CIFS_SMB_DIRECT"
	done_testing
fi

hosts_here
ok 'server listens' smb_up "$SHARE" 256M || bail 'no server'
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
ok 'device removed: the device is added again' rdma_link hostA "$DEV_A" "$DRIVER_A" vA
ok 'device removed: the share is back' wait_for touch "$MOUNT/new"
ok 'device removed: new data read back unchanged' write_and_compare "$MOUNT/new" 4M 1M
ok "server's device removed: load" load "$MOUNT/big"
ok "server's device removed: rdma link delete" rdma link delete "$DEV_B"
ok "server's device removed: the load ends" load_is_over
ok "server's device removed: the device is added again" rdma_link hostB "$DEV_B" "$DRIVER_B" vB
ok "server's device removed: the share is back" wait_for touch "$MOUNT/newer"
ok 'unmount again' umount "$MOUNT"

ok 'server stops' smb_down "$SHARE"
ok 'no object is left' wait_for no_object
ok 'link delete' rdma link delete "$DEV_A"
ok 'link delete, the other' rdma link delete "$DEV_B"
must modprobe -r ksmbd
ok 'module unloads' wait_for rmmod kwarp
done_testing
