# shellcheck shell=bash
# Functions for the suites in tests/run.d, which run on the build machine: they run commands and
# print a TAP line for each.
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
set +e # a command that fails is a failed case, and the suite goes on
TESTS=0
FAILED=0
OUTPUT=$(mktemp)
trap 'rm -f "$OUTPUT"' EXIT

report() {
	TESTS=$((TESTS + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $TESTS - $2"
	else
		FAILED=$((FAILED + 1))
		echo "not ok $TESTS - $2"
		tail -n 60 "$OUTPUT" | sed 's/^/#   /'
	fi
}

# check NAME COMMAND...: passes if COMMAND succeeds.
check() {
	local name=$1
	shift
	"$@" >"$OUTPUT" 2>&1
	report $? "$name"
}

# silent NAME COMMAND...: passes if COMMAND succeeds without output.
silent() {
	local name=$1 rc=0
	shift
	"$@" >"$OUTPUT" 2>&1 || rc=1
	[ ! -s "$OUTPUT" ] || rc=1
	report $rc "$name"
}

# unwarned NAME COMMAND...: passes if COMMAND succeeds without a warning.
unwarned() {
	local name=$1 rc=0
	shift
	"$@" >"$OUTPUT" 2>&1 || rc=1
	! grep -qi 'warning' "$OUTPUT" || rc=1
	report $rc "$name"
}

# changed FILE...: with CHANGED set, as in "make quick", prints those of the files that differ from
# the upstream branch or are not committed; otherwise prints all.
changed() {
	[ -n "${CHANGED:-}" ] || { printf '%s\n' "$@"; return; }
	local base
	base=$(git -C "$TOP" merge-base HEAD '@{upstream}' 2>/dev/null) || base=HEAD
	{
		git -C "$TOP" diff --name-only "$base"
		git -C "$TOP" ls-files --others --exclude-standard
	} | sort -u | grep -xFf <(printf '%s\n' "$@")
}

done_testing() {
	echo "1..$TESTS"
	exit $((FAILED > 0 || TESTS == 0))
}
