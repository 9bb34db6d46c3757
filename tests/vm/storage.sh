# shellcheck shell=bash
# Functions for the suites of the kernel's storage over RDMA; source this file after lib.sh:
# verified data, and load.

# no_qp: true if the kernel's consumers have released all their queue pairs
no_qp() {
	! rdma resource show qp | grep -qE "link ($DEV_A|$DEV_B)/"
}

# no_object: true if no object is left, except the pool of shared CQs, which the RDMA core keeps
no_object() {
	local dev
	for dev in "$DEV_A" "$DEV_B"; do
		[ ! -d "/sys/class/infiniband/$dev" ] ||
			rdma resource show "$dev" |
			grep -E ': pd 0 cq [0-9]+ qp 0 cm_id 0 mr 0 ' ||
			{ rdma resource show; return 1; }
	done
}

# write_and_compare DISK SIZE BLOCK: writes random bytes to the disk, reads them back and compares
write_and_compare() {
	head -c "$2" /dev/urandom >"$WORK/data"
	dd if="$WORK/data" of="$1" bs="$3" oflag=direct conv=notrunc,nocreat status=none &&
		dd if="$1" of="$WORK/back" bs="$3" iflag=direct,count_bytes count="$2" \
			status=none &&
		same_data "$WORK/data" "$WORK/back"
}

# fio_verify FILE SIZE OPTION...: writes blocks with a CRC32c and reads them back. Files in /dev are
# not created, because a file in place of a removed disk would prevent the node of the next disk.
fio_verify() {
	local file=$1 size=$2 create=1
	shift 2
	[ "${file#/dev/}" = "$file" ] || create=0
	fio --name=v --filename="$file" --allow_file_create=$create --size="$size" --direct=1 \
		--ioengine=libaio --iodepth=16 --verify=crc32c --do_verify=1 --verify_fatal=1 \
		--verify_state_save=0 --group_reporting --minimal --output="$WORK/fio" "$@" ||
		{ tail -n 20 "$WORK/fio"; return 1; }
}

# load FILE: starts rounds of random writes, each with its own data and verified afterwards, until
# load_ends_well or an error; returns when some data have been sent
load() {
	local before
	before=$(counter "$DEV_A" tx_octets)
	rm -f "$WORK/enough"
	{
		until [ -e "$WORK/enough" ]; do
			fio_verify "$1" 12M --rw=randwrite --bs=64k --rate=,3m --randrepeat=0 ||
				exit
		done
	} >"$WORK/load.log" 2>&1 &
	LOAD=$!
	wait_for sent_beyond $((before + 1000000)) && running
}
LOAD=

sent_beyond() { [ "$(counter "$DEV_A" tx_octets)" -gt "$1" ]; }
running() { [ -d "/proc/$LOAD" ]; }
ended() { ! running; }

# load_ends_well: ends the load; true if its last round succeeds
load_ends_well() {
	: >"$WORK/enough"
	PATIENCE=120 wait_for ended || return 1
	wait "$LOAD" || { cat "$WORK/load.log"; return 1; }
}

# load_is_over: true if the load ends by itself, most likely by an error, and has read no wrong data
load_is_over() {
	wait_for ended && ! wrong_data "$WORK/load.log" | grep .
}

# tree_make DIR: makes files of many lengths, and writes their checksums to $WORK/sums
tree_make() {
	local length
	cp -r kernel "$1" || return 1
	mkdir -p "$1/deep/er/and/deeper" || return 1
	for length in 0 1 3 4095 4096 4097 65536 262143 1048576 2097155; do
		head -c $length /dev/urandom >"$1/deep/er/and/$length" || return 1
	done
	sync -f "$1" || return 1
	(cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$WORK/sums"
	[ "$(wc -l <"$WORK/sums")" -gt 50 ]
}

# tree_same DIR: true if DIR has exactly the files of tree_make, with the same contents
tree_same() {
	(cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) \
		>"$WORK/sums.now" || return 1
	! diff "$WORK/sums" "$WORK/sums.now" || return 0
	awk 'NR == FNR { sum[$2] = $1 }
		NR != FNR && $2 in sum && sum[$2] != $1 { print "# wrong data: " $2 }' \
		"$WORK/sums" "$WORK/sums.now"
	return 1
}

# tree_goes_round MOUNT SERVER NAME: cases: a tree is written to the mount, found on the server, and
# read back, through both devices. The names of the cases begin with NAME.
tree_goes_round() {
	local before_a before_b
	before_a=$(counter "$DEV_A" rx_octets) before_b=$(counter "$DEV_B" rx_octets)
	mkdir "$1/tree"
	ok "${3}a tree is written" tree_make "$1/tree"
	ok "${3}the server has it" tree_same "$2/tree"
	drop_caches
	ok "${3}read back" tree_same "$1/tree"
	# at least the three biggest files, in each direction
	ok "${3}the data went through the server's device" \
		test $(($(counter "$DEV_B" rx_octets) - before_b)) -gt 3500000
	ok "${3}and back through the client's device" \
		test $(($(counter "$DEV_A" rx_octets) - before_a)) -gt 3500000
}

# tree_goes MOUNT SERVER NAME: cases: removes the tree, which must be gone on the server, too
tree_goes() {
	ok "${3}the tree is removed" rm -r "$1/tree"
	is "${3}the tree is removed on the server, too" "$(ls "$2")" ''
}

drop_caches() {
	sync && echo 3 >/proc/sys/vm/drop_caches
}
