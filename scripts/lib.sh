# shellcheck shell=bash
# Shared by the host-side scripts: paths, messages, and how to run a command in the tree.
# Source it with: . "$(dirname "$0")/lib.sh"

set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build
TREE=$BUILD/tree
DOWNLOADS=$BUILD/downloads
# compiler cache, shared by all checkouts of this user
CCACHE_DIR=${CCACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kwarp-ccache}
export TOP BUILD TREE DOWNLOADS CCACHE_DIR
# programs that scripts/tree/setup has not installed on the machine
PATH=$BUILD/bin:$PATH
umask 022

# step TEXT: prints the step that begins and remembers the text for fail().
step() {
	STEP=$*
	printf '[%4ds] %s\n' "$SECONDS" "$*" >&2
}

# fail TEXT: prints which step failed and why, and exits.
fail() {
	printf '%s: failed%s: %s\n' "${0##*/}" "${STEP:+ at "\"$STEP\""}" "$*" >&2
	exit 1
}

# quietly LOG COMMAND...: runs COMMAND with its output in LOG; shows the end of LOG on failure only.
# V=1 shows all output.
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
	fail "'$1' ended with status $rc; its output is in $log"
}

need_root() {
	[ "$(id -u)" -eq 0 ] || fail 'this needs root (chroot, mounts); run it with sudo'
}

# need_space MEGABYTES DIR: fails unless the file system of DIR has this much free space
need_space() {
	local free
	free=$(df --output=avail -BM "$2" | tr -dc '0-9')
	[ "$free" -ge "$1" ] || fail "too little disk space: $1 MB are needed in $2, which has" \
		"$free MB free. Free some space, or use another disk:" \
		"git clone $TOP /ANOTHER/DISK/kwarp"
}

# list FILE: prints the names in a package list without comments and blank lines.
list() {
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$1"
}

# lock NAME: takes a lock until exit, so that parallel makes can share one cached artefact.
lock() {
	mkdir -p "$BUILD"
	exec {LOCK_FD}>"$BUILD/.$1.lock"
	flock "$LOCK_FD"
}

# debian_archive: prints the address of the Debian archive that this machine's apt uses; the first
# one of a list of mirrors, which Debian's cloud images have.
debian_archive() {
	local uri
	uri=$(apt-get indextargets --format '$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
		awk -F'|' '$1 == "Debian" { print $2; exit }')
	case $uri in
	mirror+file:*)
		uri=${uri#mirror+file:}
		awk '/^[a-z+]+:/ { print $1; exit }' "${uri%/}"
		;;
	?*) echo "$uri" ;;
	esac
}

# apt_proxies: prints the proxies of this machine as lines of an apt.conf: those of its apt, or of
# the environment
apt_proxies() {
	local method archive proxy
	archive=$(debian_archive)
	for method in http https; do
		! apt-config dump "Acquire::$method::Proxy" | grep . || continue
		proxy=
		[ "${archive%%:*}" != $method ] ||
			proxy=$(/usr/lib/apt/apt-helper auto-detect-proxy "$archive" |
				sed -n "s/^Using proxy '\(.*\)' for .*/\1/p") || proxy=
		[ -n "$proxy" ] || {
			proxy=${method}_proxy
			proxy=${!proxy:-}
		}
		[ -z "$proxy" ] || echo "Acquire::$method::Proxy \"$proxy\";"
	done
}

# tell_proxies ROOT: makes apt in the tree ROOT use these proxies
tell_proxies() {
	local file=$1/etc/apt/apt.conf.d/80proxy lines
	lines=$(apt_proxies)
	[ "$lines" = "$(cat "$file" 2>/dev/null)" ] || echo "$lines" >"$file"
}

# need_archive: fails unless the Debian archive of this machine can be reached
need_archive() {
	local archive probe
	archive=$(debian_archive)
	[ -n "$archive" ] || fail "apt knows no Debian archive: run apt-get update. If this does" \
		"not help: echo 'deb http://deb.debian.org/debian trixie main'" \
		">/etc/apt/sources.list.d/debian.list && apt-get update"
	probe=$(mktemp)
	/usr/lib/apt/apt-helper download-file "${archive%/}/dists/trixie/InRelease" "$probe" \
		>/dev/null 2>&1 || archive=
	rm -f "$probe"
	[ -n "$archive" ] || fail "the Debian archive $(debian_archive) cannot be reached." \
		"apt-get update shows the reason; behind a proxy:" \
		"echo 'Acquire::http::Proxy \"http://HOST:PORT\";' >/etc/apt/apt.conf.d/80proxy;" \
		'the tree uses the same proxy'
}

# tree_kver: the kernel under test (the tree's stock 6.12).
tree_kver() {
	cat "$TREE/kver"
}

# tree_kver_next: the newest kernel for which the module is compile-tested.
tree_kver_next() {
	cat "$TREE/kver-next"
}

# tree_kver_rt: the newest PREEMPT_RT kernel; installed once scripts/build/stage-rt.sh has run.
tree_kver_rt() {
	local next
	next=$(tree_kver_next)
	echo "${next%-amd64}-rt-amd64"
}

# in_tree [-w DIR] COMMAND...: runs COMMAND inside the tree as root, with /proc, /dev, a private
# /tmp and this checkout at /src. The mounts live in their own namespace and end with it.
in_tree() {
	local dir=/src
	if [ "$1" = -w ]; then
		dir=$2
		shift 2
	fi
	unshare --mount --propagation private \
		"$TOP/scripts/tree/enter" "$dir" "$@"
}

# copy NAME: makes a copy of the tree, in which in_copy NAME runs commands. The copy is an overlay
# over the tree; build/copies/NAME/changes has the changes.
copy() {
	rm -rf "${BUILD:?}/copies/$1"
	mkdir -p "$BUILD/copies/$1"/{changes,work,root}
}

# in_copy NAME [-w DIR] COMMAND...: runs COMMAND in this copy, otherwise as in_tree does
in_copy() {
	local name=$1 dir=/src
	shift
	if [ "$1" = -w ]; then
		dir=$2
		shift 2
	fi
	COPY=$BUILD/copies/$name unshare --mount --propagation private \
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

# guest_command RESULTS COMMAND...: empties RESULTS and writes the command for the guest into it.
guest_command() {
	local results=$1
	shift
	rm -rf "$results"
	mkdir -p "$results"
	chmod 777 "$results"
	{
		env | grep -E '^(DRIVER|SUITES|SECONDS_EACH|V|KWARP_[A-Z_]*)=' |
			sed "s/'/'\\\\''/g; s/=/='/; s/\$/'/; s/^/export /" || :
		printf '%q ' "$@"
		echo
	} >"$results/command"
}

# measured_patience: prints the factor, in percent, by which time limits are multiplied: the time
# of a loop that runs on all processors at once, relative to the machine for which the limits were
# chosen; at least 100.
measured_patience() {
	local nominal=390 began
	began=$(date +%s%N)
	seq "$(nproc)" | xargs -P 0 -I{} bash -c 'for ((i = 0; i < 300000; i++)); do :; done'
	awk -v ms=$((($(date +%s%N) - began) / 1000000)) -v nominal=$nominal 'BEGIN {
		percent = int(100 * ms / nominal)
		print (percent < 100 ? 100 : percent > 1000 ? 1000 : percent) }'
}

# suite_limit NAME: time limit of the suite tests/vm/NAME.test.sh in seconds, from the line
# "# Timeout: N" in it, times KWARP_PATIENCE percent.
suite_limit() {
	local limit
	limit=$(sed -n 's/^# Timeout: \([0-9]*\).*/\1/p' "$TOP/tests/vm/$1.test.sh" | head -n 1)
	echo $((${limit:-1200} * ${KWARP_PATIENCE:-100} / 100))
}

. "$TOP/scripts/guest/verdict.sh"
