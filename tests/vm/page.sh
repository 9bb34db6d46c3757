# shellcheck shell=bash
# Functions for suites that run the commands of a page of the documentation; source this file after
# lib.sh or run-lib.sh.
#
# The commands of a page are in console blocks ("code-block:: console" of .rst, "```console" of
# .md):
#
#	# COMMAND		as root
#	$ COMMAND		as an unprivileged user
#	NAME# COMMAND		as root of another machine, the network namespace NAME
#
# A backslash at the end of a line continues a command; a command with <<'END' continues to the line
# END. Lines without a prompt are the complete output of the command before. In them, "…" stands for
# any text within a line, and a line "…" for any number of lines; the amount of white space and
# empty lines are ignored. In a block with the option ":class: symptom" a command with output must
# fail. A comment ".. suite: COMMAND" of .rst, which readers do not see, is also run: such commands
# cause a symptom or shorten a wait. "systemctl reboot" restarts the guest, which then runs the
# commands after it.

# page_commands PAGE SECTION...: prints the commands of these sections, or of all sections; with "-"
# SECTION..., those of all other sections. Each command ends with \036; its fields, which end with
# \037, are prompt, command, 1 for a symptom, expected output.
page_commands() {
	local page=$1
	shift
	awk -v sections="$(printf '%s\n' "$@")" '
		function flush() {
			if (command != "")
				printf "%s\037%s\037%s\037%s\036", prompt, command, symptom, printed
			command = printed = ""
		}
		BEGIN {
			n = split(sections, name, "\n")
			others = n && name[1] == "-"
			for (i = 1; i <= n; i++) wanted[name[i]]
			taken = n == 0 || name[1] == "" || others
			symptom = 0
		}
		# headings of .md and of .rst; in .rst the line below marks a heading
		function heading(text) {
			taken = n == 0 || name[1] == "" || ((text in wanted) != others)
		}
		!fenced && !inside && /^#+ / {
			text = $0; sub(/^#+ /, "", text); heading(text)
		}
		/^(-+|=+|~+)$/ && length($0) == length(before) { heading(before) }
		{ before = $0 }
		/^```/ {
			flush()
			fenced = !fenced && $0 == "```console"
			symptom = 0
			next
		}
		/^\.\. suite: / && taken {
			flush()
			text = $0; sub(/^\.\. suite: /, "", text)
			printf "suite\037%s\0370\037\036", text
			next
		}
		/^\.\. code-block:: console/ { flush(); inside = 1; symptom = 0; next }
		inside && /^[^ ]/ { flush(); inside = 0 }
		!(inside || fenced) || !taken { next }
		inside && /^ +:[a-z]+:/ { symptom = /:class: symptom$/ ? 1 : 0; next }
		inside { sub(/^    /, "") }
		here != "" {
			command = command "\n" $0
			if ($0 == here) here = ""
			next
		}
		more {
			sub(/^[ \t]+/, "")
			command = command $0
		}
		!more && /^([a-z]*#|\$) / {
			flush()
			prompt = $1
			command = $0
			sub(/^[^ ]+ /, "", command)
			begun = 1
		}
		!more && !begun && /[^ \t]/ { printed = printed $0 "\n" }
		{
			if ((more || begun) && match(command, /<<-?\047?[A-Z]+\047?/)) {
				here = substr(command, RSTART, RLENGTH)
				gsub(/[^A-Z]/, "", here)
			}
			more = (more || begun) && sub(/\\$/, "", command)
			begun = 0
		}
		END { flush() }' "$page"
}

# page_prints WANTED FILE: true if the lines of the file match WANTED
page_prints() {
	WANTED=$1 perl -0777 -ne '
		my $pattern = "";
		for my $line (grep { /\S/ } split /\n/, $ENV{WANTED}) {
			$line =~ s/^\s+|\s+$//g;
			my $any = join ".*", map {
				join "[ \\t]+", map { quotemeta } split /[ \t]+/, $_, -1
			} split /\xe2\x80\xa6/, $line, -1;
			$pattern .= $line eq "\xe2\x80\xa6" ?
				"(?:.*\\n)*?" : "[ \\t]*$any\[ \\t]*\\n";
		}
		s/\r//g;
		my $have = join "", map { "$_\n" } grep { /\S/ } split /\n/;
		exit($have !~ /\A$pattern\z/)' "$2"
}

# page_second NETDEV: makes the second machine, the namespace "second", which gets NETDEV, the other
# end of the wire of eth0, and the address 192.0.2.2. Unanswered SYNs are repeated, because
# perftest's server has no listener between its two connections: see patient(). Resolves the
# neighbours.
page_second() {
	ip netns attach first $$ && patient first eth0 18515 && ip netns add second &&
		ip link set "$1" netns second name eth0 &&
		ip -n second addr add 192.0.2.2/24 dev eth0 && ip -n second link set lo up &&
		ip -n second link set eth0 up &&
		wait_for ip netns exec second ping -qc 1 -W 1 192.0.2.1
}

# page_run PROMPT COMMAND: runs COMMAND; in this shell if the prompt is that of this machine, so
# that cd and export apply to later commands
page_run() {
	case $1 in
	suite | \#) eval "$2" ;;
	\$) runuser -u nobody -- bash -c "$2" ;;
	*) ip netns exec "${1%\#}" bash -c "$2" ;;
	esac
}

# page_listeners: prints the number of TCP listeners in all namespaces, which include those of
# rdma_cm
page_listeners() {
	local name
	{
		ss -Htln
		for name in $(ip netns list | cut -d' ' -f1); do
			ip netns exec "$name" ss -Htln
		done
	} | wc -l
}
page_listens_more() { [ "$(page_listeners)" -gt "$1" ]; }

# page_serve PROMPT COMMAND: runs COMMAND in the background; returns when COMMAND listens
page_serve() {
	local before
	before=$(page_listeners)
	page_run "$1" "exec $2" >"$WORK/background" 2>&1 </dev/null &
	page_server=$!
	wait_for page_listens_more "$before" >"$WORK/waited"
}
page_server=

# page_server_ends: true if the command in the background exits with status 0
page_server_ends() {
	local rc=0
	wait_for exited "$page_server" >"$WORK/waited" || { kill "$page_server"; rc=1; }
	wait "$page_server" || rc=$?
	[ $rc -ne 255 ] || ! only_rping_ended "$WORK/background" || rc=0
	page_server=
	return $rc
}

# Make programs write line by line, as to a terminal, so that output and errors keep their order.
page_lines='export LD_PRELOAD=/usr/libexec/coreutils/libstdbuf.so _STDBUF_O=L; '

# page_step PROMPT COMMAND SYMPTOM PRINTED: runs a command as a case. The command after one in the
# background is its client; both must succeed, unless the block is a symptom.
page_step() {
	local rc=0 symptom=$3 name=${2%%$'\n'*}
	[ -n "$4" ] || symptom=0
	[ "$1" = \# ] || name="$1 $name"
	case $2 in
	*'&')
		page_serve "$1" "${2%&}" || rc=$?
		report $rc "$name" "$WORK/background"
		return
		;;
	esac
	if [ -n "$4" ]; then
		(page_run "$1" "$page_lines$2") >"$WORK/out" 2>&1 </dev/null || rc=$?
	else
		page_run "$1" "$2" >"$WORK/out" 2>&1 </dev/null || rc=$?
	fi
	[ $rc -ne 255 ] || ! only_rping_ended "$WORK/out" || rc=0
	[ "$symptom" = 0 ] || rc=$((rc == 0))
	if [ -n "$4" ] && ! page_prints "$4" "$WORK/out"; then
		printf 'the page has:\n%s' "$4" >>"$WORK/out"
		rc=1
	fi
	if [ -n "$page_server" ]; then
		[ "$symptom" = 0 ] || kill "$page_server" 2>/dev/null
		page_server_ends || [ "$symptom" = 1 ] || rc=1
		cat "$WORK/background" >>"$WORK/out"
	fi
	report $rc "$name" "$WORK/out"
}

# page_steps PAGE SECTION...: runs each command as a case. After a restart of the guest, continues
# with the next command.
page_steps() {
	local prompt command symptom printed n=0 last=0
	local state=/var/lib/kwarp-test/page
	[ ! -f $state ] || read -r last TESTS FAILED <$state
	page_commands "$@" >"$WORK/commands"
	while IFS=$'\037' read -r -d $'\036' prompt command symptom printed <&3; do
		n=$((n + 1))
		[ $n -gt "$last" ] || continue
		if [ "$command" = 'systemctl reboot' ]; then
			report 0 "$prompt $command"
			mkdir -p ${state%/*}
			echo "$n $TESTS $FAILED" >$state
			sync
			exit 75
		fi
		page_step "$prompt" "$command" "$symptom" "$printed"
	done 3<"$WORK/commands"
	[ $n -gt 0 ] || bail "no commands in $1: ${*:2}"
}
