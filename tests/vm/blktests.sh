# shellcheck shell=bash
# Functions for the suites of blktests; source this file after lib.sh. They run the tests of
# blktests on a device of DRIVER, and compare each result with the one in blktests.expected.

BLKTESTS=$WORK/blktests
EXPECTED=$(dirname "$0")/blktests.expected

# this_kernel: prints debug or stock, as in the first column of blktests.expected
this_kernel() {
	if in_uml; then
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

# blktests_up: copies blktests to $BLKTESTS, and makes the network interface on which blktests makes
# its RDMA device; host and target are both this machine. The suite is skipped if the sources could
# not be fetched.
blktests_up() {
	local missing=/src/build/blktests/missing
	[ ! -e $missing ] || {
		skip 'blktests' "$(cat $missing)"
		done_testing
	}
	must cp -R /src/build/blktests "$BLKTESTS"
	must blktests_patient
	# Put the kernel's configuration where the tests look for it. Hide kmemleak from blktests,
	# which would clear the leaks that the runner looks for.
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

# blktests_patient: multiplies time limits of the tests by the factor of this machine. Switches off
# CHECK_DMESG, because it knows no exceptions; the runner checks the kernel log instead. nvme/061
# makes the port of the target before it allows the host to use the port; a host that reconnects in
# between is refused and does not try again.
blktests_patient() {
	sed -i "s/\(timeout=\"\)5\"/\1$(patience 15)\"/
		s/i < 10; i++/i < $(patience 100); i++/
		s/\(def_state_timeout=\)5/\1$(patience 30)/" "$BLKTESTS/common/nvme" &&
		sed -i 's/CHECK_DMESG=1/CHECK_DMESG=0/' "$BLKTESTS/check" &&
		sed -i "s/\(--reconnect-delay\) 1/\1 $(patience 5)/" "$BLKTESTS/tests/nvme/061"
}

# modules_near: replaces the folder of kernel modules by a folder of symbolic links in memory. The
# tests search the folder with find, which takes minutes on the file system of the emulator.
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

# blktests_results: reads the output of "check" and prints a line "TEST RESULT" when a test has
# ended. TEST is followed by a comma and the kind of the target's disk if the test runs with
# several; RESULT is passed, failed, or "not run" with the first reason.
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

# blktests GROUP [TEST...]: runs the named tests, or all of the group; each is a case
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
