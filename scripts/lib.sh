# shellcheck shell=bash
# Shared by the host-side scripts: where things are, how they talk, how to enter the tree.
# Source it with: . "$(dirname "$0")/lib.sh"

set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build
TREE=$BUILD/tree
DOWNLOADS=$BUILD/downloads
# what compilers have made, of use to any checkout of this user's
CCACHE_DIR=${CCACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kwarp-ccache}
export TOP BUILD TREE DOWNLOADS CCACHE_DIR
umask 022
mkdir -p "$CCACHE_DIR"

# step TEXT: say what is being done, and remember it for fail().
step() {
	STEP=$*
	printf '[%4ds] %s\n' "$SECONDS" "$*" >&2
}

# fail TEXT: say which step failed and why, and end.
fail() {
	printf '%s: failed%s: %s\n' "${0##*/}" "${STEP:+ at "\"$STEP\""}" "$*" >&2
	exit 1
}

# quietly LOG COMMAND...: run with output to LOG; show its end only on failure. V=1 shows all.
quietly() {
	local log=$1 rc=0
	shift
	mkdir -p "$(dirname "$log")"
	if [ "${V:-0}" = 1 ]; then
		"$@" 2>&1 | tee "$log" || rc=$?
	else
		"$@" >"$log" 2>&1 || rc=$?
	fi
	[ $rc -eq 0 ] && return 0
	[ "${V:-0}" = 1 ] || tail -n 30 "$log" >&2
	fail "'$1' ended with status $rc; all of its output is in $log"
}

need_root() {
	[ "$(id -u)" -eq 0 ] || fail 'this needs root (chroot, mounts); run it with sudo'
}

# list FILE: the names in a package list, comments and blank lines left out.
list() {
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$1"
}

# lock NAME: one holder at a time, so that parallel makes share one cached artefact; freed at exit.
lock() {
	mkdir -p "$BUILD"
	exec {LOCK_FD}>"$BUILD/.$1.lock"
	flock "$LOCK_FD"
}

# debian_archive: the address of the Debian archive that this machine's own apt uses.
debian_archive() {
	apt-get indextargets --format '$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
		awk -F'|' '$1 == "Debian" { print $2; exit }'
}

# tree_kver: the kernel under test (the tree's stock 6.12).
tree_kver() {
	cat "$TREE/kver"
}

# tree_kver_next: the newest kernel that the module is compile-tested for.
tree_kver_next() {
	cat "$TREE/kver-next"
}

# in_tree [-w DIR] COMMAND...: run inside the tree, as root, with /proc, /dev and a private /tmp,
# and with this checkout at /src. The mounts live in a namespace of their own and end with it.
in_tree() {
	local dir=/src
	if [ "$1" = -w ]; then
		dir=$2
		shift 2
	fi
	unshare --mount --propagation private \
		"$TOP/scripts/tree/enter" "$dir" "$@"
}

# ---- guests: the QEMU VM and user-mode Linux ----

# guest_results DIR: sets $results to DIR, or to DIR-2, DIR-3, ... while another guest uses it.
guest_results() {
	local n=1
	mkdir -p "$BUILD/results"
	results=$(realpath -m "$1")
	while exec {RESULTS_FD}>"$results.lock" && ! flock -n "$RESULTS_FD"; do
		n=$((n + 1))
		results=$1-$n
	done
}

# guest_command RESULTS COMMAND...: an empty RESULTS directory that tells the guest what to run.
guest_command() {
	local results=$1
	shift
	rm -rf "$results"
	mkdir -p "$results"
	chmod 777 "$results"
	{
		env | grep -E '^(DRIVER|SUITES|SECONDS_EACH|V|KWARP_[A-Z_]*)=' | sed "s/'/'\\\\''/g; s/=/='/; s/\$/'/; s/^/export /" || :
		printf '%q ' "$@"
		echo
	} >"$results/command"
}

# suite_limit NAME: seconds that the suite tests/vm/NAME.test.sh may take; a line "# Timeout: N" in it says so.
suite_limit() {
	local limit
	limit=$(sed -n 's/^# Timeout: \([0-9]*\).*/\1/p' "$TOP/tests/vm/$1.test.sh" | head -n 1)
	echo "${limit:-400}"
}

# What the kernel says when something is wrong with it. Deliberate: no plain "error".
KERNEL_COMPLAINTS='WARNING:|BUG:|KASAN|UBSAN|possible circular locking|possible recursive locking|inconsistent lock state|suspicious RCU usage|bad unlock balance|lock held when returning|INFO: task|INFO: rcu|Call Trace|refcount_t|Oops|Kernel panic|soft lockup|hung_task|unreferenced object|ODEBUG|scheduling while atomic|sleeping function called|invalid opcode|divide error'

# kernel_complaints FILE...: the lines that match, if any; empty and false when the logs are clean.
# What a log has from before its "guest ready" line is the machine's own and does not count; neither does
# the trace of a vmalloc() that tests/verbs/faults has made to fail, which it always leaves, nor what lock proving says
# of the NVMe target with any RDMA device: that takes nvmet_config_sem inside of a connection's handler_mutex, and a
# listener's handler_mutex inside of nvmet_config_sem.
kernel_complaints() {
	local file
	for file; do
		if grep -aqs 'kwarp: guest ready' "$file"; then
			sed '1,/kwarp: guest ready/d' "$file"
		else
			cat "$file" 2>/dev/null || :
		fi
	done | sed '/\bfaults: vmalloc error/,/Call Trace:/d' | awk '
		/WARNING: possible circular locking/ { report = ""; inside = 1 }
		inside { report = report $0 "\n" }
		inside && /Call Trace:/ {
			inside = 0
			if (report !~ /\(nvmet_config_sem\)/ || report ~ /\[kwarp\]/)
				printf "%s", report
			next
		}
		!inside
		END { if (inside) printf "%s", report }' | grep -aE "$KERNEL_COMPLAINTS"
}

# guest_verdict RESULTS EMULATOR_STATUS LIMIT: exit as the command did, or 125 if the kernel did not do well.
guest_verdict() {
	local results=$1 rc=$2 limit=$3
	if kernel_complaints "$results/console.log" "$results/kernel.log" >"$results/complaints"; then
		echo "the kernel complained; see $results/console.log and kernel.log:" >&2
		sort -u "$results/complaints" | head -n 20 >&2
		exit 125
	fi
	if [ ! -s "$results/status" ]; then
		[ "$rc" -ne 124 ] || echo "time limit of $limit s reached" >&2
		echo "the guest ended without a result (emulator status $rc); end of its console:" >&2
		tail -n 20 "$results/console.log" >&2
		exit 125
	fi
	exit "$(cat "$results/status")"
}
