# bash completion of kwarpctl(8)

_kwarpctl_devices()
{
	local dir
	for dir in /sys/class/infiniband/*/kwarp; do
		[ -d "$dir" ] && basename "${dir%/kwarp}"
	done
}

_kwarpctl_files()
{
	local file
	for file in /etc/kwarp/*.conf; do
		[ -f "$file" ] && basename "$file" .conf
	done
}

_kwarpctl_netdevs() { ls /sys/class/net; }

_kwarpctl_keys() { kwarpctl -o policy keys 2>/dev/null | cut -d' ' -f1; }

# The values of key $1, if these are words.
_kwarpctl_values()
{
	local name values
	while read -r name values; do
		[ "$name" = "$1" ] || continue
		case $values in
		*NETDEV*) echo off && _kwarpctl_netdevs ;;
		*..*) ;;
		*) tr '|' '\n' <<<"${values//any of /}" ;;
		esac
	done < <(kwarpctl -o policy keys 2>/dev/null)
}

_kwarpctl()
{
	local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]} words=() i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--sysfs | --config-dir | --interval | -i | --count | -c | --peer | --port)
			((i++))
			;;
		-*) ;;
		*) words+=("${COMP_WORDS[i]}") ;;
		esac
	done

	local choice= names name
	case "${#words[@]} ${words[*]}" in
	"0 "*)
		choice="up down status policy stats monitor doctor help"
		choice+=" -j -p -o -V -h --json --pretty --oneline --version --help"
		;;
	"1 policy") choice="show set save apply check keys help" ;;
	"1 stats") choice="show help $(_kwarpctl_devices)" ;;
	"1 up") choice=$(_kwarpctl_files) ;;
	"1 monitor") choice="--interval --count $(_kwarpctl_devices)" ;;
	"1 doctor") choice="--peer --port $(_kwarpctl_devices)" ;;
	"1 down" | "1 status" | "2 policy set" | "2 policy show" | "2 policy save" | "2 stats show")
		choice=$(_kwarpctl_devices)
		;;
	"2 policy apply" | "2 policy check") choice=$(_kwarpctl_files) ;;
	"2 up "*) choice=netdev ;;
	"3 up "*) choice=$(_kwarpctl_netdevs) ;;
	[3579]" policy set "* | [468]" up "*) choice=$(_kwarpctl_keys) ;;
	[468]" policy set "* | [579]" up "*) choice=$(_kwarpctl_values "$last") ;;
	esac
	# Not compgen -W, which would run a command in the name of a netdev.
	read -rd '' -a names <<<"$choice"
	COMPREPLY=()
	for name in "${names[@]}"; do
		printf -v name %q "$name"
		[[ $name == "$word"* ]] && COMPREPLY+=("$name")
	done
}

complete -F _kwarpctl kwarpctl
