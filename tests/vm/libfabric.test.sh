#!/bin/bash
# libfabric: its verbs provider finds the device, and its ping-pong runs over connected endpoints and,
# with ofi_rxm on top, over reliable datagram ones; every octet compared.
. "$(dirname "$0")/lib.sh"

hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"

ok 'fi_info: verbs' on_a fi_info -p verbs
has 'it has the device' "domain: $DEV_A"
has 'it knows it for iWARP' 'protocol: FI_PROTO_IWARP'
ok 'fi_info: verbs;ofi_rxm' on_a fi_info -p 'verbs;ofi_rxm' -t FI_EP_RDM
has 'reliable datagrams on the device' "domain: $DEV_A"
ok 'fi_info: what it can do' on_a fi_info -p verbs -t FI_EP_MSG -c 'FI_RMA|FI_ATOMIC|FI_MSG'

# pingpong PROVIDER ENDPOINT ADDRESS [OPTION...]: -c compares
pingpong() {
	local provider=$1 endpoint=$2 address=$3
	shift 3
	PORT=47592 server pingpong on_b fi_pingpong -p "$provider" -e "$endpoint" -c "$@"
	ok "$provider $endpoint $*: client" on_a fi_pingpong -p "$provider" -e "$endpoint" -c "$@" "$address"
	cp "$WORK/out" "$WORK/client"
	finish pingpong
	report $(($? != 0)) "$provider $endpoint $*: server" "$WORK/pingpong.log"
	cp "$WORK/client" "$WORK/out"
}

for over in 'verbs msg' 'verbs;ofi_rxm rdm'; do
	# every size from 64 octets to 1 MiB; then one below, one across FPDUs, and the other family
	pingpong "${over% *}" "${over#* }" $IP_B -I 5
	has 'the largest, too' '^1m '
	pingpong "${over% *}" "${over#* }" $IP_B -I 50 -S 1
	pingpong "${over% *}" "${over#* }" $IP_B -I 20 -S 1429
	pingpong "${over% *}" "${over#* }" $IP6_B -I 20 -S 5000 -6
done
pingpong 'verbs;ofi_rxm' rdm $IP_B -I 20 -S 5000 -m tagged
pingpong 'verbs;ofi_rxm' rdm $IP_B -I 3 -S 4000000
done_testing
