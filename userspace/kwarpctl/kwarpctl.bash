# bash completion of kwarpctl(8)

_kwarpctl_devices()
{
	local dir
	for dir in /sys/class/infiniband/*/kwarp; do
		[ -d "$dir" ] && basename "${dir%/kwarp}"
	done
}

_kwarpctl()
{
	local word=${COMP_WORDS[COMP_CWORD]} words=() i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--sysfs) ((i++)) ;;
		-*) ;;
		*) words+=("${COMP_WORDS[i]}") ;;
		esac
	done

	local choice
	case "${#words[@]} ${words[*]}" in
	"0 "*) choice="policy stats help -j -o -V -h --json --oneline --version --help" ;;
	"1 policy") choice="show set help" ;;
	"1 stats") choice="show help $(_kwarpctl_devices)" ;;
	"2 policy s"* | "2 stats show") choice=$(_kwarpctl_devices) ;;
	[3579]" policy set"*) choice=$(ls "/sys/class/infiniband/${words[2]}/kwarp" 2>/dev/null) ;;
	*) choice= ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$choice" -- "$word")
}

complete -F _kwarpctl kwarpctl
