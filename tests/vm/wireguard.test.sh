#!/bin/bash
# wireguard: devices on WireGuard interfaces. The suite checks the data and the packets on the wire,
# and removes and restores the keys of a peer in mid-transfer.
# Timeout: 600
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/encrypted.sh"

drivers_load
wire_up
WG_A=10.8.0.1 WG_B=10.8.0.2
umask 077
for host in a b; do
	wg genkey >"$WORK/$host.key"
	wg pubkey <"$WORK/$host.key" >"$WORK/$host.pub"
done

# peers: gives each end the public key and the address of the other
peers() {
	on_a wg set wgA peer "$(cat "$WORK/b.pub")" endpoint "$IP_B:51820" allowed-ips "$WG_B/32" &&
		on_b wg set wgB peer "$(cat "$WORK/a.pub")" endpoint "$IP_A:51820" \
			allowed-ips "$WG_A/32"
}

away() {
	on_a wg set wgA peer "$(cat "$WORK/b.pub")" remove &&
		on_b wg set wgB peer "$(cat "$WORK/a.pub")" remove
}

must ip -n hostA link add wgA type wireguard
must ip -n hostB link add wgB type wireguard
must on_a wg set wgA listen-port 51820 private-key "$WORK/a.key"
must on_b wg set wgB listen-port 51820 private-key "$WORK/b.key"
must peers
must ip -n hostA addr add $WG_A/24 dev wgA
must ip -n hostB addr add $WG_B/24 dev wgB
must ip -n hostA link set wgA up
must ip -n hostB link set wgB up
must patient hostB wgB 18515
must rdma_link hostA "$DEV_A" "$DRIVER_A" wgA
must rdma_link hostB "$DEV_B" "$DRIVER_B" wgB
ok 'WireGuard: ping' on_a ping -qc 1 $WG_B

over WireGuard $WG_B 'tcp or sctp'
goes_on WireGuard $WG_B away peers
over_sctp WireGuard $WG_B
done_testing
