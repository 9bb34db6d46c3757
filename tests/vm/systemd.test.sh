#!/bin/bash
# systemd: the packages on a machine with systemd and udev. Installation must start nothing; the
# first device loads the module; services restore devices after a restart and follow their netdev;
# removal of the packages leaves nothing.
# Machine: systemd
# Timeout: 1200
. "$(dirname "$0")/lib.sh"

# state that survives a restart: the part to run next, and the number of cases so far
state=/var/lib/kwarp-test
mkdir -p $state
part=$(cat $state/part 2>/dev/null || echo first)
TESTS=$(cat $state/tests 2>/dev/null || echo 0)
FAILED=$(cat $state/failed 2>/dev/null || echo 0)

# restart PART: restarts the machine, which then runs that part
restart() {
	echo "$1" >$state/part
	echo "$TESTS" >$state/tests
	echo "$FAILED" >$state/failed
	sync
	exit 75
}

there() { [ -d "/sys/class/infiniband/$1/kwarp" ]; }
gone() { [ ! -e "/sys/class/infiniband/$1" ]; }
loaded() { [ -d "/sys/module/$1" ]; }
not_loaded() { [ ! -d "/sys/module/$1" ]; }
set_to() { [ "$(cat "/sys/class/infiniband/$1/kwarp/$2")" = "$3" ]; }
active() { systemctl is-active "$1"; }
inactive() { ! systemctl is-active "$1"; }
starts_of() { systemctl show -P InvocationID "$1"; }
# started_again SERVICE ID: true if the service is active, and ID is that of an earlier start
started_again() { active "$1" && [ "$(starts_of "$1")" != "$2" ]; }
# on DEVICE NETDEV: true if the device is on the netdev of that name, not on an earlier one
on() {
	[ "$(rdma -j link show "$1/1" | grep -oE '"netdev_index":[0-9]+')" = \
		"\"netdev_index\":$(cat "/sys/class/net/$2/ifindex")" ]
}
has_address() { ip addr show dev "$1" | grep -q "inet $2/"; }
in_journal() { journalctl -q -b -u "$1" | grep -E -- "$2"; }

# works ADDRESS: true if rping to a server on this machine succeeds
works() {
	rping -s -a "$1" -v -C 5 >"$WORK/server" 2>&1 &
	wait_for sh -c 'ss -Htln "sport = :7174" | grep -q .'
	rping -c -a "$1" -v -V -C 5 || return
	wait $! || { [ $? -eq 255 ] && only_rping_ended "$WORK/server"; }
}

netdev() {
	ip link add "$1" type dummy && ip addr add "$2/24" dev "$1" && ip link set "$1" up
}

# no_failures: true if no unit of kwarp or rdma-core has failed
no_failures() {
	! systemctl --failed --plain --no-legend | grep -E 'kwarp@|rdma|ib'
}

# order_at_shutdown: starts services that note at shutdown whether the device is there. "remote"
# stands for a mount of the network, and ends slowly; "network" for what sets up the network. No
# other unit has started the target of mounts. A mount of the network at /var/tmp, for which
# basic.target waits, must not make a cycle; nvme-cli's service would make one, and "network" with
# the default dependencies.
order_at_shutdown() {
	cat >/etc/systemd/system/remote.service <<-END
		[Unit]
		After=remote-fs-pre.target
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/bin/true
		ExecStop=/bin/sleep 5
		ExecStop=/bin/sh -c 'ls /sys/class/infiniband >$state/remote; sync'
	END
	cat >/etc/systemd/system/network.service <<-END
		[Unit]
		DefaultDependencies=no
		Conflicts=shutdown.target
		Before=network.target shutdown.target
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/bin/true
		ExecStop=/bin/sh -c 'ls /sys/class/infiniband >$state/network; sync'
	END
	mkdir -p /etc/systemd/system/kwarp@kwarp0.service.d
	printf '[Service]\nExecStop=\nExecStop=/bin/sleep 3\nExecStop=%s\n' \
		'/usr/sbin/kwarpctl down %i' >/etc/systemd/system/kwarp@kwarp0.service.d/slow.conf
	echo 'tmpfs /var/tmp tmpfs _netdev 0 0' >>/etc/fstab
	systemctl disable nvmf-autoconnect
	systemctl daemon-reload
	ok 'a mount of the network at /var/tmp' mount /var/tmp
	systemctl stop remote-fs-pre.target kwarp@kwarp0
	ok 'the device starts' systemctl start kwarp@kwarp0
	ok 'the target of mounts starts with the device' wait_for active remote-fs-pre.target
	ok 'a mount, and the network' systemctl start remote network
}

# order_was_right: true if the device stayed until the mount had ended, and ended before the network
order_was_right() {
	rm -r /etc/systemd/system/kwarp@kwarp0.service.d
	systemctl daemon-reload
	grep -x kwarp0 $state/remote && [ -e $state/network ] && ! grep -x kwarp0 $state/network
}

# isolate: has systemd stop all units that this suite does not need, "bystander" among them
isolate() {
	printf '[Unit]\nRequires=kwarp-test.target\nAllowIsolate=yes\n' \
		>/run/systemd/system/isolated.target
	printf '[Service]\nExecStart=/bin/sleep infinity\n' >/run/systemd/system/bystander.service
	systemctl daemon-reload && systemctl start bystander &&
		systemctl --no-block isolate isolated.target && wait_for inactive bystander
}

no_cycle() { ! journalctl -q -b | grep 'ordering cycle'; }

# wants_late5: a unit that requires the unit of a netdev, which appears later
wants_late5() {
	printf 'netdev = late5\n' >/etc/kwarp/kwarp5.conf
	cat >/run/systemd/system/late5-user.service <<-'END'
		[Unit]
		Requires=sys-subsystem-net-devices-late5.device
		After=sys-subsystem-net-devices-late5.device
		[Service]
		ExecStart=/bin/sleep infinity
	END
	systemctl enable kwarp@kwarp5 && systemctl --no-block start late5-user
}

first() {
	ok 'installing starts nothing: no module' not_loaded kwarp
	is 'installing starts nothing: no device' "$(rdma link show)" ''
	ok 'rdma link add loads the module' rdma link add kwarp0 type kwarp netdev lo
	is 'the module is that of DKMS' "$(modinfo -F filename kwarp | grep -o '/updates/dkms/')" \
		/updates/dkms/
	ok 'udev loads the modules that programs need: rdma_ucm' wait_for loaded rdma_ucm
	ok 'udev loads the modules that programs need: ib_uverbs' wait_for loaded ib_uverbs
	udevadm settle
	is 'rdma-core knows the device as iWARP' \
		"$(udevadm info -q property -p /sys/class/infiniband/kwarp0 | grep IWARP)" \
		ID_RDMA_IWARP=1
	ok 'rdma-core: modules for iWARP' wait_for active rdma-load-modules@iwarp.service
	ok 'rdma link delete' rdma link delete kwarp0
	LIMIT=600 ok 'the test of the source package' debian/tests/kselftest

	cat >/etc/systemd/network/dummy0.netdev <<-'END'
		[NetDev]
		Name=dummy0
		Kind=dummy
	END
	cat >/etc/systemd/network/dummy0.network <<-'END'
		[Match]
		Name=dummy0
		[Network]
		Address=10.9.0.1/24
	END
	ok 'a netdev that systemd-networkd makes' systemctl enable --now systemd-networkd
	ok 'the address of the netdev' wait_for has_address dummy0 10.9.0.1
	ok 'kwarpctl up' kwarpctl up kwarp0 netdev dummy0 crc required ird 7
	ok 'kwarpctl doctor' kwarpctl doctor
	ok 'rping' works 10.9.0.1
	ok 'kwarpctl policy save' kwarpctl policy save kwarp0
	fails 'no file: the service does not start' systemctl start kwarp@nosuch
	ok 'systemctl enable' systemctl enable kwarp@kwarp0
	ok 'systemctl start, with the device there' systemctl start kwarp@kwarp0
	ok 'systemctl start: the device is still there' there kwarp0
	# a netdev that appears late, and one for which udev has no unit
	printf 'netdev = late0\nord = 5\n' >/etc/kwarp/kwarp1.conf
	printf 'netdev = lo\n' >/etc/kwarp/kwarp2.conf
	printf 'netdev = late1\npaths = late2\nord = 5\n' >/etc/kwarp/kwarp3.conf
	ok 'systemctl enable, without its netdev' \
		systemctl enable kwarp@kwarp1 kwarp@kwarp2 kwarp@kwarp3
	# a netdev that is made when the network is up, as by wg-quick, and a user of its device
	printf 'netdev = late4\n' >/etc/kwarp/kwarp4.conf
	cat >/etc/systemd/system/late4.service <<-'END'
		[Unit]
		Wants=network-online.target
		After=network-online.target remote-fs.target
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=ip link add late4 type dummy
		[Install]
		WantedBy=multi-user.target
	END
	cat >/etc/systemd/system/late4-user.service <<-'END'
		[Unit]
		Wants=kwarp@kwarp4.service
		After=kwarp@kwarp4.service
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=test -d /sys/class/infiniband/kwarp4/kwarp
		[Install]
		WantedBy=multi-user.target
	END
	ok 'a service that uses a late device' systemctl enable kwarp@kwarp4 late4 late4-user
	order_at_shutdown
	restart second
}

second() {
	ok 'after a restart: the service is active' wait_for active kwarp@kwarp0
	ok 'before the restart: mounts ended before the device, and the network after it' \
		order_was_right
	ok 'after the restart: the order of units is no cycle' no_cycle
	ok 'systemctl isolate' isolate
	ok 'systemctl isolate: the service is active' active kwarp@kwarp0
	ok 'after a restart: the device is there' there kwarp0
	ok 'after a restart: policy' set_to kwarp0 ird 7
	ok 'after a restart: rping' works 10.9.0.1
	ok 'a service on lo' active kwarp@kwarp2
	ok 'a service that uses a late device: it had the device' active late4-user
	is 'a service that uses a late device: the network did not wait' \
		"$(journalctl -q -b | grep 'Timed out waiting for device.*late4')" ''
	ok 'a service without its netdev waits' inactive kwarp@kwarp1
	ok 'nothing has failed' no_failures
	ok 'the netdev appears' netdev late0 10.9.1.1
	ok 'the service starts by itself' wait_for active kwarp@kwarp1
	ok 'the new device has its policy' set_to kwarp1 ord 5
	ok 'the netdev is removed' ip link del late0
	ok 'the service ends by itself' wait_for inactive kwarp@kwarp1
	ok 'the device is gone' wait_for gone kwarp1
	ok 'the netdev appears again' netdev late0 10.9.1.1
	ok 'the service starts again' wait_for active kwarp@kwarp1

	# The service is still being stopped when the netdev is there again.
	mkdir -p /etc/systemd/system/kwarp@kwarp1.service.d
	printf '[Service]\nExecStop=/bin/sleep 2\n' \
		>/etc/systemd/system/kwarp@kwarp1.service.d/slow.conf
	ok 'a service that stops slowly' systemctl daemon-reload
	before=$(starts_of kwarp@kwarp1)
	ip link del late0
	ok 'the netdev is made again at once' netdev late0 10.9.1.1
	ok 'the service starts after it has stopped' wait_for started_again kwarp@kwarp1 "$before"
	ok 'the device is there, with its policy' set_to kwarp1 ord 5
	before=$(starts_of kwarp@kwarp1)
	for _ in 1 2 3 4 5; do
		ip link del late0
		netdev late0 10.9.1.1
	done
	ok 'the netdev is made again several times' \
		wait_for started_again kwarp@kwarp1 "$before"
	ok 'the device is on the last netdev' wait_for on kwarp1 late0
	ok 'the device is there again, with its policy' wait_for set_to kwarp1 ord 5
	rm -r /etc/systemd/system/kwarp@kwarp1.service.d
	systemctl daemon-reload

	ok 'systemctl stop, with the netdev' systemctl stop kwarp@kwarp1
	ok 'systemctl disable' systemctl disable kwarp@kwarp1
	ip link del late0
	ok 'a netdev without an enabled service' netdev late0 10.9.1.1
	udevadm settle
	ok 'a service that is not enabled does not start' inactive kwarp@kwarp1
	ok 'systemctl enable --now' systemctl enable --now kwarp@kwarp1

	ip link set late0 down
	ok 'the netdev is renamed' ip link set late0 name other0
	ok 'the netdev is renamed: the service ends' wait_for inactive kwarp@kwarp1
	ok 'the netdev is renamed: the device is gone' wait_for gone kwarp1
	ok 'the netdev has its name again' ip link set other0 name late0
	ok 'the netdev has its name again: the service starts' wait_for active kwarp@kwarp1

	ok 'policy paths: the netdev of the device' netdev late1 10.9.2.1
	udevadm settle
	ok 'policy paths: the service waits for the other netdev' inactive kwarp@kwarp3
	ok 'policy paths: nothing has failed' no_failures
	ok 'policy paths: the other netdev' netdev late2 10.9.3.1
	ok 'policy paths: the service starts' wait_for active kwarp@kwarp3
	ok 'policy paths: the policy' set_to kwarp3 paths late2
	ip link del late2
	udevadm settle
	ok 'policy paths: the other netdev vanishes, and the service stays' active kwarp@kwarp3
	ok 'policy paths: the other netdev appears again' netdev late2 10.9.3.1
	ip link del late1
	ok 'policy paths: the service ends with its netdev' wait_for inactive kwarp@kwarp3
	ok 'policy paths: the netdev appears again' netdev late1 10.9.2.1
	ok 'policy paths: the service starts again' wait_for active kwarp@kwarp3
	ok 'nothing has failed, of all that' no_failures

	ok 'a unit that requires the unit of a netdev' wants_late5
	ok 'the netdev of such a unit appears' netdev late5 10.9.5.1
	ok 'the service starts with the netdev of such a unit' wait_for active kwarp@kwarp5
	systemctl stop late5-user
	ip link del late5

	printf 'netdev = late6\n' >/etc/kwarp/kwarp6.conf
	systemctl daemon-reload
	systemctl --no-block start kwarp@kwarp6
	ok 'a service that is not enabled waits for its netdev' netdev late6 10.9.6.1
	ok 'a service that is not enabled starts then' wait_for active kwarp@kwarp6
	ip link del late6
	ok 'a service that is not enabled ends with its netdev' wait_for inactive kwarp@kwarp6

	sed -i 's/^ird.*/ird = 9/' /etc/kwarp/kwarp0.conf
	ok 'systemctl reload' systemctl reload kwarp@kwarp0
	ok 'systemctl reload: policy' set_to kwarp0 ird 9
	echo 'ird = many' >>/etc/kwarp/kwarp0.conf
	fails 'systemctl reload, a bad line' systemctl reload kwarp@kwarp0
	ok 'a bad line is named' wait_for in_journal kwarp@kwarp0 \
		'/etc/kwarp/kwarp0.conf:[0-9]+: ird is 0\.\.128'
	ok 'a bad line: the service stays active' active kwarp@kwarp0
	ok 'a bad line: policy' set_to kwarp0 ird 9
	sed -i '$d' /etc/kwarp/kwarp0.conf
	ok 'restart of kwarp.target' systemctl start kwarp.target
	ok 'restart of kwarp.target: again' systemctl restart kwarp.target
	ok 'restart of kwarp.target: the devices' wait_for there kwarp0
	ok 'systemctl stop' systemctl stop kwarp@kwarp2
	ok 'systemctl stop: the device is gone' gone kwarp2
	ok 'nothing has failed, before removal' no_failures

	LIMIT=600 ok 'removal' dpkg --purge kwarp kwarpctl kwarp-dkms kwarp-ibverbs-provider \
		libkwarp-dev
	ok 'removal: no device' gone kwarp0
	ok 'removal: the module can be unloaded' rmmod kwarp
	fails 'removal: the module cannot be loaded again' modprobe kwarp
	is 'removal: no files' "$(find /etc /usr/lib /usr/sbin /usr/share /usr/src /var/lib/dkms \
		-name '*kwarp*' ! -name 'kwarp-test*' 2>/dev/null)" ''
	restart third
}

third() {
	is 'after removal and a restart: no device' "$(rdma link show)" ''
	ok 'after removal and a restart: no module' not_loaded kwarp
	ok 'after removal and a restart: nothing has failed' no_failures
	done_testing
}

$part
