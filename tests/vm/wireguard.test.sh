#!/bin/bash
# wireguard: devices on WireGuard interfaces. The suite checks the data and the packets on the wire,
# and removes and restores the keys of a peer in mid-transfer.
# Timeout: 600
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/encrypted.sh"

drivers_load
wire_up
WG_A=10.8.0.1 WG_B=10.8.0.2
back() { wireguard_peers "$WG_A" "$WG_B"; }
away() {
	on_a wg set wgA peer "$(cat "$WORK/b.pub")" remove &&
		on_b wg set wgB peer "$(cat "$WORK/a.pub")" remove
}

must wireguard_up $WG_A $WG_B
must ip -n hostA addr add $WG_A/24 dev wgA
must ip -n hostB addr add $WG_B/24 dev wgB
must ip -n hostA link set wgA up
must ip -n hostB link set wgB up
must patient hostB wgB 18515
must rdma_link hostA "$DEV_A" "$DRIVER_A" wgA
must rdma_link hostB "$DEV_B" "$DRIVER_B" wgB
ok 'WireGuard: ping' on_a ping -qc 1 $WG_B

over WireGuard $WG_B 'tcp or sctp'
goes_on WireGuard $WG_B away back
over_sctp WireGuard $WG_B
done_testing
