#!/bin/bash
# bench/nvme.sh: measures the cost of an I/O of NVMe-oF over kwarp and nvme-tcp, in instructions of
# both ends, which QEMU counts as for cost-guest.sh. Host and target are in one guest with one
# processor, and the disk is null_blk, which stores no data. Starts the guest; the results, medians
# of ROUNDS (3) measurements, are in build/results/nvme/nvme.md.
if [ ! -d /results ]; then
	. "$(dirname "$0")/../../scripts/lib.sh"
	"$TOP/scripts/build/stage.sh"
	# The emulator counts each byte of "rep movsb"; without these flags the kernel copies eight
	# bytes at a time.
	CPUS=1 ICOUNT=1 KERNEL_ARGS='clearcpuid=erms,fsrm' "$TOP/scripts/guest/vm.sh" -t 1800 \
		-o "$BUILD/results/nvme" env "ROUNDS=${ROUNDS:-3}" tests/bench/nvme.sh
	exec cat "$BUILD/results/nvme/nvme.md"
fi

. "$(dirname "$0")/../vm/lib.sh"
. "$(dirname "$0")/../vm/nvme.sh"
table=/results/nvme.tsv
: >"$table"

# port_of TRANSPORT: makes a port that serves the subsystem over the transport
port_of() {
	local port=$TARGET/ports/1
	mkdir "$port" || return 1
	echo "$1" >"$port/addr_trtype"
	echo ipv4 >"$port/addr_adrfam"
	echo "$IP_B" >"$port/addr_traddr"
	echo 4420 >"$port/addr_trsvcid"
	ln -s "$SUBSYS" "$port/subsystems/$NQN"
}

# fio_job NAME RW BLOCK DEPTH NUMBER: runs NUMBER I/Os; prints the nanoseconds, which are
# instructions, per I/O. A short run before loads pages of programs and fills caches.
fio_job() {
	local name=$1 rw=$2 block=$3 depth=$4 number=$5 n
	for n in $((number / 10)) "$number"; do
		fio --name=j --filename="$(disk)" --rw="$rw" --bs="$block" --iodepth="$depth" \
			--direct=1 --ioengine=libaio --number_ios="$n" --size=100% --thread \
			--clocksource=clock_gettime --output-format=json --output="$WORK/fio" \
			--norandommap --randrepeat=1 --allow_file_create=0 || return 1
	done
	python3 - "$WORK/fio" "$rw" <<-'END'
		import json, sys
		job = json.load(open(sys.argv[1]))["jobs"][0]
		side = job["write" if "write" in sys.argv[2] else "read"]
		print(round(1e6 * side["runtime"] / side["total_ios"]))
	END
}

# jobs TRANSPORT CRC MTU: runs all jobs
jobs() {
	local name rw block depth number value
	while read -r name rw block depth number; do
		value=$(fio_job "$name" "$rw" "$block" "$depth" "$number") || bail "fio: $name"
		printf '%s\t%s\t%s\t%s\t%s\n' "$@" "$name" "$value" | tee -a "$table"
	done <<-'END'
		randread_4k_depth_1 randread 4k 1 4000
		randread_4k_depth_32 randread 4k 32 8000
		randwrite_4k_depth_32 randwrite 4k 32 8000
		read_128k_depth_8 read 128k 8 1000
		write_128k_depth_8 write 128k 8 1000
	END
}

# measured TRANSPORT CRC MTU: connects, measures, and removes the port
measured() {
	local end options=()
	for end in vA vB; do
		must ip link set $end mtu "$3"
	done
	must here_routes
	if [ "$2" = crc ]; then
		must policy crc required
		[ "$1" != tcp ] || options=(--hdr-digest --data-digest)
	else
		must policy crc off
	fi
	must port_of "$1"
	must nvme connect -t "$1" -a "$IP_B" -s 4420 -n "$NQN" -i 1 --keep-alive-tmo=3600 \
		"${options[@]}"
	must wait_for disk
	jobs "$@"
	must nvme disconnect -n "$NQN"
	must wait_for no_disk
	must port_down 1
}

# report_md: prints medians, and the ratio nvme-tcp : kwarp
report_md() {
	echo "instructions for an I/O, both ends, nvme-tcp and kwarp; their ratio"
	echo
	echo '| MTU | CRC | test | nvme-tcp | kwarp | nvme-tcp : kwarp |'
	echo '| --- | --- | --- | --- | --- | --- |'
	sort -t "$(printf '\t')" -k1,4 -k5n "$table" | awk -F'\t' '
		{ row = $3 SUBSEP $2 SUBSEP $4; key = row SUBSEP $1; value[key, ++n[key]] = $5
		  if (!(row in seen)) { seen[row]; rows[++count] = row } }
		function median(key) { return value[key, int((n[key] + 1) / 2)] }
		END { for (i = 1; i <= count; i++) {
			split(rows[i], f, SUBSEP)
			tcp = median(rows[i] SUBSEP "tcp"); rdma = median(rows[i] SUBSEP "rdma")
			printf "| %s | %s | %s | %d | %d | %.2f |\n", f[1], f[2], f[3],
				tcp, rdma, tcp / rdma
		} }'
}

must modprobe null_blk gb=1 nr_devices=1
must modprobe -a nvmet-rdma nvmet-tcp nvme-rdma nvme-tcp
echo 0 >/sys/module/tcp_cubic/parameters/hystart # as in cost-guest.sh
hosts_here
must mkdir -p "$SUBSYS/namespaces/1"
echo 1 >"$SUBSYS/attr_allow_any_host"
echo -n /dev/nullb0 >"$SUBSYS/namespaces/1/device_path"
echo 1 >"$SUBSYS/namespaces/1/enable"
for ((round = 0; round < ${ROUNDS:-3}; round++)); do
	for mtu in 1500 9000; do
		for crc in plain crc; do
			measured rdma $crc $mtu
			measured tcp $crc $mtu
		done
	done
done
subsystem_down
report_md >/results/nvme.md
