#!/bin/bash
# guide: each command of Documentation/guide.rst, as it is written there, on a machine with systemd.
# Machine: systemd
# Timeout: 1800
. "$(dirname "$0")/lib.sh"

page=$(realpath "$(dirname "$0")/../../Documentation/guide.rst")

# commands: prints those of the page that have a prompt, one to a line, continued lines joined
commands() {
	awk '
		/^\.\. code-block:: console/ { inside = 1; next }
		inside && /^[^ ]/ { inside = 0 }
		!inside { next }
		sub(/^    # /, "") || more {
			more = sub(/\\$/, "")
			sub(/^ +/, "")
			printf "%s%s", $0, more ? "" : "\n"
		}' "$page"
}

# What the page takes for granted: an interface with the address. The disk's own file system is one
# that can be exported, which the overlay is not.
must ip link add eth0 type veth peer name wire
must ip addr add 192.0.2.1/24 dev eth0
must ip link set wire up
must ip link set eth0 up
must mount /dev/vda /srv
must modprobe -q configfs

listeners() { rdma resource show cm_id | grep -c 'state LISTEN'; }
more_listeners() { [ "$(listeners)" -gt "$1" ] || ss -Htln | grep -q ':18515 '; }

# step COMMAND: runs a line in this shell, so that cd and export last. One in the background is
# waited for until it listens; the next one after it is its client, and it has to end well, too.
step() {
	local before rc=0
	before=$(listeners)
	case $1 in
	*'&')
		eval "$1" >"$WORK/background" 2>&1
		pid=$!
		wait_for more_listeners "$before" >/dev/null || rc=$?
		report $rc "$1" "$WORK/background"
		;;
	*)
		eval "$1" >"$WORK/out" 2>&1 </dev/null || rc=$?
		[ -z "$pid" ] || wait "$pid" || rc=$?
		cat "$WORK/background" >>"$WORK/out" 2>/dev/null
		rm -f "$WORK/background"
		pid=
		report $rc "$1" "$WORK/out"
		;;
	esac
}

pid=
commands >"$WORK/commands"
while read -r line <&3; do
	step "$line"
done 3<"$WORK/commands"
is 'as many commands as the page has' "$(grep -cE '^    # ' "$page")" $TESTS
done_testing
