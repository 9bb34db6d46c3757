#!/bin/bash
# tgt: iSER in user space: tgtd as target, libiscsi (iser://) as initiator, in the tools of libiscsi
# and of QEMU. Written data are compared in the file of the target, and when they are read back.
# Machine: programs
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
disk=$WORK/disk
target=iqn.2026-11.example:disk
initiator=iqn.2026-11.example:client
url=iser://$IP_B/$target/1
truncate -s 64M "$disk"

# By default tgtd also opens a TCP socket on the port that it uses for RDMA, which fails because
# both share one port space. By default its pool of buffers has 1 GiB of locked memory, in buffers
# of 512 KiB, but qemu-img writes 2 MiB at once. With iSER, tgtd requires the address and the name
# of an initiator.
manage() { on_b tgtadm --lld iser "$@"; }
server tgtd on_b tgtd -f --iscsi portal=127.0.0.1:3261 --iser pool_sz_mb=128,buf_sz_kb=2048
wait_for manage --op show --mode target >"$WORK/out" || bail 'tgtd does not answer'
must manage --op new --mode target --tid 1 --targetname $target
must manage --op new --mode logicalunit --tid 1 --lun 1 --backing-store "$disk"
must manage --op bind --mode target --tid 1 --initiator-address ALL
for name in $initiator iqn.2008-11.org.linux-kvm; do
	must manage --op bind --mode target --tid 1 --initiator-name "$name"
done
ok 'the target listens' wait_for listening hostB 3260

ok 'iscsi-inq' on_a iscsi-inq -i $initiator "$url"
has 'iscsi-inq: the disk of tgt' 'Product:VIRTUAL-DISK'
ok 'iscsi-readcapacity16' on_a iscsi-readcapacity16 -i $initiator "$url"
has 'iscsi-readcapacity16: its size' "Total size:$(stat -c %s "$disk")"
fails 'a name that is not in its list is refused' on_a iscsi-inq -i iqn.2026-11.example:no "$url"
has 'a name that is not in its list: the reason' 'Target not found'

head -c 20000001 /dev/urandom >"$WORK/sent"
truncate -s 64M "$WORK/sent"
ok 'qemu-img: an image to the target' on_a qemu-img convert -n -f raw -O raw "$WORK/sent" "$url"
ok 'the target has the data' same_data "$WORK/sent" "$disk"
ok 'qemu-img: read back' on_a qemu-img convert -f raw -O raw "$url" "$WORK/back"
ok 'qemu-img: the data are the same' same_data "$WORK/sent" "$WORK/back"

# patterns: prints commands for qemu-io: many small and large blocks at a time, each with a pattern
# that qemu-io compares
patterns() {
	local i
	for ((i = 0; i < 64; i++)); do
		echo "aio_write -P $((i + 1)) $((i * 1048576)) $((512 * (1 + i * 31)))"
	done
	echo aio_flush
	for ((i = 0; i < 64; i++)); do
		echo "aio_read -P $((i + 1)) $((i * 1048576)) $((512 * (1 + i * 31)))"
	done
	echo aio_flush
}
qemu_io() { patterns | on_a timeout -k 5 "$(patience 120)" qemu-io -f raw "$url"; }
ok 'qemu-io: 64 writes at a time, and reads' qemu_io
is 'qemu-io: all blocks are read' \
	"$(grep -oE '(wrote|read) [0-9]+/[0-9]+ bytes' "$WORK/out" | wc -l)" 128
is 'qemu-io: no wrong pattern, no error' "$(grep -iE 'pattern|failed|error' "$WORK/out")" ''
ok 'the data went over RDMA' test "$(counter "$DEV_B" rx_octets)" -gt 40000000
done_testing
