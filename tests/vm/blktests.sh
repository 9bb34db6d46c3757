# shellcheck shell=bash
# For the suites of blktests, after lib.sh: its tests on a device of DRIVER, with each test's result
# compared to the one in blktests.expected.

BLKTESTS=$WORK/blktests
EXPECTED=$(dirname "$0")/blktests.expected

# this_kernel: prints debug or stock, as in the first column of blktests.expected
this_kernel() {
	if grep -q '^vendor_id.*User Mode Linux' /proc/cpuinfo; then
		echo debug
	else
		echo stock
	fi
}

# expected GROUP: prints "TEST RESULT" for each test of the group in this kernel
expected() {
	awk -v kernel="$(this_kernel)" -v group="$1/" '
		/^#/ || !index($2, group) { next }
		$1 == kernel || $1 == "all" { print $2, substr($0, index($0, $3)) }' "$EXPECTED"
}

# blktests_up: lays blktests out in $BLKTESTS, and makes the network interface on which it makes its
# device; host and target are this machine. The suite is skipped if there was no source.
blktests_up() {
	local missing=/src/build/blktests/missing
	[ ! -e $missing ] || {
		skip 'blktests' "$(cat $missing)"
		done_testing
	}
	must cp -R /src/build/blktests "$BLKTESTS"
	must blktests_patient
	# The kernel's configuration, where the tests look for it. The runner looks for leaks, and
	# blktests would clear what kmemleak has found.
	[ "$(this_kernel)" = stock ] ||
		grep -v KMEMLEAK build/uml-debug/.config >"/boot/config-$(uname -r)"
	must modprobe dummy
	must ip link add dummy0 type dummy
	must ip addr add 192.0.2.1/24 dev dummy0
	must ip link set dummy0 up
	# "modprobe --remove --wait kwarp" also waits for crc32c_intel, which XFS may use.
	MODPROBE_PATIENT_RM_TIMEOUT_SECONDS=$(patience 10)
	export MODPROBE_PATIENT_RM_TIMEOUT_SECONDS
	case $DRIVER in
	kwarp) export USE_KWARP=1 ;;
	rxe) export USE_RXE=1 ;;
	esac
}

# blktests_patient: gives the tests this machine's patience. The runner judges the kernel's log, for
# which CHECK_DMESG has no exceptions. nvme/061 makes the target's port before the host is allowed
# to use it: a host that comes in between is refused for good.
blktests_patient() {
	sed -i "s/\(timeout=\"\)5\"/\1$(patience 15)\"/
		s/i < 10; i++/i < $(patience 100); i++/
		s/\(def_state_timeout=\)5/\1$(patience 30)/" "$BLKTESTS/common/nvme" &&
		sed -i 's/CHECK_DMESG=1/CHECK_DMESG=0/' "$BLKTESTS/check" &&
		sed -i "s/\(--reconnect-delay\) 1/\1 $(patience 5)/" "$BLKTESTS/tests/nvme/061"
}

# modules_near: the folder of the kernel's modules as one of symbolic links in memory. The tests
# look for files there by find, which takes minutes over the emulator's file system.
modules_near() {
	local folder
	folder=/lib/modules/$(uname -r)
	mkdir /run/modules "$WORK/links" && mount --bind "$folder" /run/modules &&
		perl -e '
			use File::Basename; use File::Path "make_path";
			my ($from, $to) = @ARGV;
			open my $dep, "<", "$from/modules.dep" or die;
			my @files = (map { s/:.*//sr } <$dep>);
			push @files, map { basename $_ } glob "$from/modules.*";
			my %made;
			for (@files) {
				my $dir = "$to/" . dirname $_;
				make_path $dir unless $made{$dir}++;
				symlink "$from/$_", "$to/$_" or die "$_: $!";
			}' /run/modules "$WORK/links" &&
		mount --bind "$WORK/links" "$folder"
}

# blktests_results: reads the output of "check" and prints, as soon as a test has ended, a line
# "TEST RESULT": TEST with the kind of the target's disk behind a comma if it runs with several,
# RESULT passed, failed, or not run with the first reason.
blktests_results() {
	gawk '
		test && !/^    runtime / {
			sub(/^ +/, "")
			print test, "not run: " $0
			test = ""
		}
		match($0, /^([a-z]+\/[^ ]+) .*\[(passed|failed|not run)\]$/, found) {
			test = found[1]
			result = found[2]
			if (match($0, /^[^ ]+ \(tr=[^)]* bd=([a-z]+)/, found))
				test = test "," found[1]
			if (result != "not run") {
				print test, result
				test = ""
			}
		}
		{ fflush() }'
}

# blktests GROUP [TEST...]: runs the tests of the group, or those; one case for each
blktests() {
	local group=$1 test result wanted rc log=$WORK/blktests.log
	[ $# -eq 1 ] || shift
	[ ! -d /results ] || log=/results/blktests.log
	expected "$group" >"$WORK/expected"
	: >"$WORK/seen"
	while read -r test result; do
		echo "$test" >>"$WORK/seen"
		wanted=$(sed -n "s|^$test ||p" "$WORK/expected")
		printf 'got:    %s\nwanted: %s\n' "$result" "$wanted" >"$WORK/out"
		tail -n 30 "$log" >>"$WORK/out"
		rc=0
		[ "$result" = "$wanted" ] || rc=1
		report $rc "$test: ${wanted:-$result}" "$WORK/out"
	done < <(cd "$BLKTESTS" && ./check "$@" 2>&1 </dev/null | tee "$log" | blktests_results)
	[ ! -d /results ] || cp -R "$BLKTESTS/results" /results
	is "$group: no test is left out" "$(cut -d' ' -f1 "$WORK/expected" | sort)" \
		"$(sort "$WORK/seen")"
	echo "# summary: $group: $(grep -c '\[passed\]' "$log") passed," \
		"$(grep -c '\[not run\]' "$log") not run," \
		"$(grep -c '\[failed\]' "$log") failed"
}
