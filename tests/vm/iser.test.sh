#!/bin/bash
# iser: iSCSI Extensions for RDMA, with the kernel's target (LIO) and open-iscsi as initiator. Both
# work in the initial namespace only, so both ends of the wire are there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storage.sh"

TARGET=/sys/kernel/config/target
IQN=iqn.2026-11.test:kwarp
TPG=$TARGET/iscsi/$IQN/tpgt_1
PORTAL=$TPG/np/$IP_B:3260
DISK=$TARGET/core/rd_mcp_0/disk
NODE="-m node -T $IQN -p $IP_B:3260 -I iser"

# portal: makes a target portal. LIO listens on the same port for TCP and for RDMA, which fails in
# one namespace if the device shares its port space with TCP. LIO opens the TCP socket in the
# namespace of the process that makes the portal, so we make the portal in another namespace.
portal() {
	ip netns add portal &&
		nsenter --net=/run/netns/portal mkdir "$PORTAL" && ip netns del portal &&
		echo 1 >"$PORTAL/iser"
}

target_up() {
	mkdir -p "$DISK" && echo rd_pages=16384 >"$DISK/control" && echo 1 >"$DISK/enable" ||
		return 1
	mkdir -p "$TARGET/iscsi" && mkdir -p "$TPG" || return 1
	mkdir "$TPG/lun/lun_0" && ln -s "$DISK" "$TPG/lun/lun_0/disk" && portal || return 1
	# any initiator may write
	echo 0 >"$TPG/attrib/authentication"
	echo 0 >"$TPG/attrib/demo_mode_write_protect"
	echo 1 >"$TPG/attrib/generate_node_acls"
	echo 1 >"$TPG/attrib/cache_dynamic_acls"
	echo 1 >"$TPG/enable"
}

target_down() {
	echo 0 >"$TPG/enable" && echo 0 >"$PORTAL/iser" && rmdir "$PORTAL" || return 1
	rm "$TPG/lun/lun_0/disk" &&
		rmdir "$TPG/lun/lun_0" "$TPG" "$TARGET/iscsi/$IQN" "$TARGET/iscsi" || return 1
	rmdir "$DISK" "$TARGET/core/rd_mcp_0"
}

iscsid_up() {
	local noop
	mkdir -p /etc/iscsi /run/lock/iscsi /var/lib/iscsi
	echo "InitiatorName=iqn.2026-11.test:initiator" >/etc/iscsi/initiatorname.iscsi
	# notice a lost connection soon
	noop=$(patience 5)
	sed -i -e 's/^iscsid.startup.*//' \
		-e "s/^\(node.session.timeo.replacement_timeout = \).*/\1$(patience 120)/" \
		-e "s/^\(node.conn\[0\].timeo.noop_out_\(interval\|timeout\) = \).*/\1$noop/" \
		/etc/iscsi/iscsid.conf
	# iscsid kills its whole process group when it is stopped, so we give it a group of its own.
	server iscsid on_a setsid iscsid -f -d 2
	wait_for iscsiadm -m iface
}

# disk: prints the session's disk
disk() {
	local dev
	for dev in /sys/class/iscsi_session/session*/device/target*/*/block/*; do
		[ -b "/dev/${dev##*/}" ] && echo "/dev/${dev##*/}" && return 0
	done
	return 1
}

sessions() { iscsiadm -m session; }
logged_in() { grep -qx LOGGED_IN /sys/class/iscsi_session/session*/state; }
not_logged_in() { ! logged_in; }

hosts_here
must modprobe target_core_mod
must modprobe iscsi_target_mod
must modprobe ib_isert
must modprobe ib_iser
must modprobe sd_mod
ok 'target listens' target_up || bail 'no target'
ok 'target listens: by RDMA' sh -c "rdma resource show cm_id | grep '$DEV_B.*LISTEN.*:3260'"
ok 'the initiator runs' iscsid_up
ok 'the initiator knows iSER' iscsiadm -m iface -I iser
has 'the initiator knows iSER: its transport' 'transport_name = iser'
# shellcheck disable=SC2086 # options
{
	ok 'discovery' iscsiadm -m discovery -t st -p $IP_B:3260 -I iser
	has 'discovery: finds the target' "$IQN"
	ok 'login' iscsiadm $NODE --login
	ok 'session' sessions
	has 'session: by iSER' "^iser: .*$IQN"
	ok 'the disk is there' wait_for disk || bail 'no disk'
	before=$(counter "$DEV_B" rx_octets)
	ok 'written data read back unchanged' write_and_compare "$(disk)" 8M 1M
	ok 'the data went over RDMA' test $(($(counter "$DEV_B" rx_octets) - before)) -gt 8000000
	ok 'single blocks read back unchanged' write_and_compare "$(disk)" 64K 512
	ok 'fio, 4 KiB, verified' fio_verify "$(disk)" 4M --rw=randwrite --bs=4k
	ok 'fio, 1 MiB, verified' fio_verify "$(disk)" 32M --rw=write --bs=1M
	ok 'fio, reads and writes of all sizes, verified' fio_verify "$(disk)" 16M --rw=randrw \
		--bsrange=512-512k --bs_unaligned=0 --blockalign=512

	ok 'device removed: load' load "$(disk)"
	ok 'device removed: rdma link delete' rdma link delete "$DEV_A"
	ok 'device removed: the session is lost' wait_for not_logged_in
	ok 'device removed: the device is added again' rdma_link hostA "$DEV_A" "$DRIVER_A" vA
	ok 'device removed: the session is back' wait_for logged_in
	ok 'device removed: the load succeeds' load_ends_well
	ok 'logout under load: load' load "$(disk)"
	ok 'logout under load' iscsiadm $NODE --logout
	ok 'logout under load: the load ends' load_is_over
}
ok 'no session is left' wait_for sh -c '! ls -d /sys/class/iscsi_session/session*'
stop iscsid
ok 'target stops' target_down
ok 'no object is left' wait_for no_object
ok 'link delete' rdma link delete "$DEV_A"
ok 'link delete, the other' rdma link delete "$DEV_B"
must modprobe -r ib_isert
must modprobe -r ib_iser
ok 'module unloads' wait_for rmmod kwarp
done_testing
