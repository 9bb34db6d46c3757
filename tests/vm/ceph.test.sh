#!/bin/bash
# ceph: Ceph's messenger async+rdma in its mode for iWARP, with rdma_cm: a monitor and an OSD on one
# host, their client on the other. The client stores data in both, reads them back and compares
# them.
# Machine: programs
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
fsid=$(cat /proc/sys/kernel/random/uuid)

# config HOST DEVICE: writes the ceph.conf of the host. Each messenger registers its buffers, of
# 128 KiB each, when it starts.
config() {
	cat >"$WORK/$1.conf" <<-END
		[global]
		fsid = $fsid
		mon_host = [v2:$IP_B:3300]
		public_network = 10.0.0.0/24
		auth_cluster_required = none
		auth_service_required = none
		auth_client_required = none
		ms_type = async+rdma
		ms_async_rdma_device_name = $2
		ms_async_rdma_cm = true
		ms_async_rdma_type = iwarp
		ms_async_rdma_send_buffers = 128
		ms_async_rdma_receive_buffers = 1024
		ms_async_rdma_receive_queue_len = 512
		ms_async_rdma_support_srq = true
		log_to_stderr = true
		run_dir = $WORK
		mon_data = $WORK/mon
		mon_data_avail_warn = 0
		mon_data_avail_crit = 0
		mon_config_key_max_entry_size = 4000000
		mon_allow_pool_size_one = true
		osd_data = $WORK/osd
		osd_objectstore = memstore
		osd_crush_chooseleaf_type = 0
		osd_pool_default_size = 1
		osd_pool_default_min_size = 1
		osd_memory_target = 939524096
	END
}

ceph_a() { on_a timeout -k 5 "$(patience 60)" ceph -c "$WORK/a.conf" "$@"; }
rados_a() { on_a timeout -k 5 "$(patience 120)" rados -c "$WORK/a.conf" -p pool "$@"; }
osd_up() { ceph_a osd stat | grep -q '1 up'; }

config a "$DEV_A"
config b "$DEV_B"
mkdir "$WORK/mon" "$WORK/osd"
must on_b monmaptool --create --fsid "$fsid" --addv b "[v2:$IP_B:3300]" "$WORK/map"
must on_b ceph-mon -c "$WORK/b.conf" --mkfs -i b --monmap "$WORK/map"
PORT=3300 server mon on_b ceph-mon -c "$WORK/b.conf" -f -i b
ok 'the monitor answers' wait_for ceph_a -s
ok 'the monitor has a quorum' ceph_a quorum_status
has 'the monitor has a quorum: of one' '"quorum_names": ?\["b"\]'

head -c 1000000 /dev/urandom | base64 -w 0 >"$WORK/value"
ok 'monitor: a value of 1.3 MB' ceph_a config-key set key -i "$WORK/value"
ok 'monitor: read back' ceph_a config-key get key -o "$WORK/got"
ok 'monitor: the value is the same' same_data "$WORK/value" "$WORK/got"

uuid=$(cat /proc/sys/kernel/random/uuid)
ok 'a new OSD' ceph_a osd new "$uuid"
ok 'the store of the OSD is made' on_b ceph-osd -c "$WORK/b.conf" -i 0 --mkfs --osd-uuid "$uuid"
server osd on_b ceph-osd -c "$WORK/b.conf" -f -i 0
ok 'the OSD comes up' wait_for osd_up
ok 'a pool is made' ceph_a osd pool create pool 8
before=$(counter "$DEV_B" rx_octets)
for size in 1 4096 131072 20000001; do
	head -c $size /dev/urandom >"$WORK/object"
	ok "OSD: an object of $size bytes" rados_a put "object-$size" "$WORK/object"
	ok "OSD: read back, $size" rados_a get "object-$size" "$WORK/got"
	ok "OSD: the object is the same, $size" same_data "$WORK/object" "$WORK/got"
done
ok 'the data went over RDMA' test "$(counter "$DEV_B" rx_octets)" -gt $((before + 20000000))
ok 'the OSD still runs' kill -0 "${SERVERS[osd]}"
ok 'the monitor still runs' kill -0 "${SERVERS[mon]}"
done_testing
