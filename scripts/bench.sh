#!/bin/bash
# bench.sh: "make bench". Measures kwarp, siw, rxe and TCP in turns in one run of user-mode Linux
# and leaves build/bench/bench.json and table.md; ooo.json and ooo.md report out-of-order placement.
# Then counts instructions per message in QEMU (cost.md) and runs the micro-benchmarks of the
# protocol core (micro.txt, micro.json).
# ROUNDS, MINUTES and ONLY are passed to tests/bench/guest.sh; TIME=0, COST=0, MICRO=0 skip a part.
# ONLY=picture measures only the figures of README's picture, rate and latency by size, and writes
# build/bench/picture.svg and picture.csv.
. "$(dirname "$0")/lib.sh"
need_root

out=$BUILD/bench
[ "${ONLY:-}" != picture ] || COST=0 MICRO=0
mkdir -p "$out"
"$TOP/scripts/tree/setup"
"$TOP/scripts/tree/tree.sh"
quietly "$BUILD/log/bench.log" in_tree -w /src/tests/bench make -s all O=/src/build/bench

# guest BOOT LIMIT SCRIPT: runs SCRIPT in a guest; its results are in build/results/bench
guest() {
	local boot=$1 limit=$2
	shift 2
	# shellcheck disable=SC2086 # a command and its arguments
	"$TOP"/$boot -t "$limit" -o "$BUILD/results/bench" "$@" \
		>"$BUILD/log/bench-guest.log" 2>&1 || {
		tail -n 20 "$BUILD/log/bench-guest.log" >&2
		fail "the guest failed: $BUILD/log/bench-guest.log"
	}
}

# about: prints the conditions of the last run
about() {
	local kernel processors
	# shellcheck source=/dev/null
	. "$BUILD/results/bench/machine"
	echo "user-mode Linux $kernel, $processors processors, veth with MTU 1500, no CRC;" \
		"$(date -u +%F)"
}

if [ "${TIME:-1}" = 1 ]; then
	step 'time: about 20 minutes'
	export FLAVOUR=fast NO_LEAKS=1
	"$TOP/scripts/guest/uml.sh" build
	"$TOP/scripts/build/mirror" "$TOP/tests/bench/modules" "$out/modules" .
	quietly "$BUILD/log/bench-modules.log" in_tree make -s -C /src/build/uml-fast ARCH=um \
		M=/src/build/bench/modules modules
	guest 'scripts/guest/uml.sh run' 7200 \
		env "ROUNDS=${ROUNDS:-}" "MINUTES=${MINUTES:-}" "ONLY=${ONLY:-}" \
		tests/bench/guest.sh
	rm -f "$out"/picture.{svg,csv} "$out"/{figures,goals}.csv "$out/table.md" \
		"$out"/ooo.{md,json}
	cp "$BUILD/results/bench"/{records.tsv,ooo.tsv,failures.log} "$out/"
	if [ -s "$out/records.tsv" ]; then
		in_tree /src/build/bench/report /src/build/bench/records.tsv /src/build/bench \
			>"$out/table.md"
		[ ! -e "$out/picture.csv" ] ||
			in_tree -w /src/build/bench gnuplot -e "about = '$(about)'" \
				/src/tests/bench/plot.gp
		cat "$out/table.md"
	fi
	if [ -s "$out/ooo.tsv" ]; then
		in_tree /src/build/bench/ooo_report /src/build/bench/ooo.tsv \
			/src/build/bench/ooo.json >"$out/ooo.md"
		cat "$out/ooo.md"
	fi
	[ ! -s "$out/failures.log" ] || echo "failed measurements: $out/failures.log" >&2
fi
if [ "${COST:-1}" = 1 ]; then
	step 'cost: instructions of the stock kernel in QEMU'
	"$TOP/scripts/build/stage.sh"
	export CPUS=1 ICOUNT=1
	guest scripts/guest/vm.sh 900 tests/bench/cost-guest.sh
	cp "$BUILD/results/bench/cost.md" "$out/cost.md"
	cp "$BUILD/results/bench/bench.json" "$out/cost.json"
	cp "$BUILD/results/bench/figures.csv" "$out/cost.csv"
	cat "$out/cost.md"
fi
if [ "${MICRO:-1}" = 1 ]; then
	step 'micro: the protocol core on this machine'
	in_tree /src/build/bench/micro --benchmark_counters_tabular=true \
		--benchmark_out=/src/build/bench/micro.json --benchmark_out_format=json \
		>"$out/micro.txt" 2>"$BUILD/log/bench-micro.log"
	cat "$out/micro.txt"
fi
