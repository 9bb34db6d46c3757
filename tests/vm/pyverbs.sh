# shellcheck shell=bash
# Functions for pyverbs.test.sh and pyverbs-compare; source this file after lib.sh: they run
# rdma-core's Python suite, as the package has it, on a device of any driver.

PYVERBS=/usr/share/doc/rdma-core/tests

# pyverbs_device DRIVER: makes a dummy interface and the device DRIVER0 on it, in this namespace,
# because the suite has both ends on one device, looks up the device in sysfs, and uses the first
# address of its interface
pyverbs_device() {
	local driver=$1 netdev=dummy-$1 n=1
	case $driver in
	siw) n=2 ;;
	rxe) n=3 ;;
	esac
	llp_default
	modprobe -a ib_uverbs rdma_ucm dummy &&
		{ modprobe "$driver" 2>/dev/null || modprobe "rdma_$driver"; } &&
		ip link add "$netdev" type dummy &&
		sysctl -qw "net.ipv6.conf.$netdev.accept_dad=0" &&
		ip addr add "198.51.100.$n/32" dev "$netdev" &&
		ip link set "$netdev" up &&
		rdma link add "${driver}0" type "$driver" netdev "$netdev" &&
		wait_for uverbs_node "${driver}0" && uses_llp "${driver}0" &&
		pyverbs_policy "${driver}0"
}

# pyverbs_policy DEV: sets the policies that the suite needs: most tests connect by queue pair
# numbers, and some send with immediate data
pyverbs_policy() {
	local dir=/sys/class/infiniband/$1/kwarp
	[ ! -d "$dir" ] || {
		echo 4791 >"$dir/rendezvous_port" && echo 1 >"$dir/send_imm" &&
			wait_for has_gid "$1" "${GID_A%:*:*}:c633:6401"
	}
}

# pyverbs_down: removes the device and the interface, if they exist
pyverbs_down() {
	local driver
	for driver in kwarp siw rxe; do
		[ ! -d "/sys/class/infiniband/${driver}0" ] ||
			timeout "$(patience 30)" rdma link delete "${driver}0"
		ip link delete "dummy-$driver"
	done
	sysctl -qw vm.nr_hugepages=0
} >/dev/null 2>&1
trap 'pyverbs_down; suite_end' EXIT

# pyverbs_prepare DIR: unpacks the suite, multiplies its time limits by the factor of this machine,
# and reserves the huge pages that some of its tests need
pyverbs_prepare() {
	mkdir -p "$1" && cp "$PYVERBS"/*.py* "$1" && gunzip "$1"/*.gz || return
	sed -i "s/^POLL_CQ_TIMEOUT = .*/POLL_CQ_TIMEOUT = $(patience 60)/" "$1/utils.py" &&
		sed -i "s/\(Barrier(.*timeout=\)15)/\1$(patience 15))/" "$1/base.py" || return
	[ ! -e /proc/sys/vm/nr_hugepages ] || sysctl -qw vm.nr_hugepages=16
}

# pyverbs_parse LOG: prints "NAME ok", "NAME error", "NAME fail" or "NAME skip REASON" for each test
# of a verbose log, and "NAME unfinished" if the log ends within that test. Other output may be
# between a name and its result.
pyverbs_parse() {
	awk '
		function flush() { if (name) print name, "unfinished"; name = "" }
		/^test[A-Za-z0-9_]* \(tests\./ {
			flush()
			name = $2
			gsub(/[()]|^\(?tests\./, "", name)
		}
		name && /(^|\.\.\. )(ok|ERROR|FAIL|skipped .*)$/ {
			result = $0
			sub(/^.*\.\.\. /, "", result)
			if (sub(/^skipped .?/, "skip ", result))
				sub(/.$/, "", result)
			else
				result = tolower(result)
			print name, result
			name = ""
		}
		END { flush() }' "$1"
}

# pyverbs_run DIR DEV RESULTS: runs the whole suite in DIR on DEV; writes one line for each test to
# RESULTS, with the name of the device replaced by DEV, and all output to RESULTS.log. If a test
# kills the interpreter (result "crash") or hangs ("hang", after LIMIT seconds for all tests), the
# suite is started again with the tests after it; or with the same test, if an earlier test of that
# run may have caused the failure.
pyverbs_run() {
	local dir=$1 dev=$2 results=$3 log=$3.log rc first end names=()
	: >"$results"
	: >"$log"
	(cd "$dir" && python3 run_tests.py --list-tests) 2>/dev/null |
		grep '^tests\.' >"$results.all"
	[ -s "$results.all" ] || return 1
	while :; do
		rc=0
		(
			cd "$dir" && timeout -k 5 "$(patience "${LIMIT:-600}")" \
				python3 run_tests.py --dev "$dev" -v "${names[@]}"
		) >"$results.out" 2>"$results.err" </dev/null || rc=$?
		cat "$results.out" "$results.err" >>"$log"
		pyverbs_parse "$results.err" >"$results.part"
		grep -v ' unfinished$' "$results.part" >>"$results"
		! grep -q '^Ran [0-9]* test' "$results.err" || break
		first=${names[0]:-}
		# The first test of a run cannot have failed because of an earlier test.
		if grep -qx "${first#tests.} unfinished" "$results.part" || [ $rc -eq 124 ]; then
			end=$([ $rc -eq 124 ] && echo hang || echo crash)
			sed -n "s/ unfinished\$/ $end/p" "$results.part" >>"$results"
		fi
		cut -d' ' -f1 "$results" | sed 's/^/tests./' >"$results.done"
		grep -vxFf "$results.done" "$results.all" >"$results.left" || break
		mapfile -t names <"$results.left"
	done
	sed -i "s/\<$dev\>/DEV/g" "$results"
	LC_ALL=C sort -o "$results" "$results"
}

# pyverbs_count RESULTS WORD...: prints the number of results that are one of the words
pyverbs_count() {
	local file=$1
	shift
	awk -v words="$*" '
		BEGIN { n = split(words, w, " "); for (i = 1; i <= n; i++) want[w[i]] = 1 }
		want[$2] { count++ }
		END { print count + 0 }' "$file"
}

# pyverbs_summary RESULTS WHO: prints a line that run.sh shows
pyverbs_summary() {
	echo "# summary: $2: $(pyverbs_count "$1" ok) ok, $(pyverbs_count "$1" skip) skipped," \
		"$(pyverbs_count "$1" error fail crash hang) failed of $(grep -c . "$1")"
}
