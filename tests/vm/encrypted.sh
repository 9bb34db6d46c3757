# shellcheck shell=bash
# Functions for suites about encrypting networks; source this file after lib.sh. Programs that
# compare their data run over such a network, the wire carries only ciphertext, and a connection
# survives when keys are missing for a moment.

# ipsec_states HOST add|delete ALGORITHM...: adds or deletes the security associations of both
# directions between the hosts; ALGORITHM is in the words of "ip xfrm state", and not for "delete"
ipsec_states() {
	local host=$1 action=$2 from to spi
	shift 2
	[ "$action" = delete ] || set -- reqid 1 mode transport "$@"
	while read -r from to spi; do
		ip -n "$host" xfrm state "$action" src "$from" dst "$to" proto esp spi "$spi" \
			"$@" || return
	done <<-END
		$IP_A $IP_B 0x1001
		$IP_B $IP_A 0x1002
	END
}

# ipsec_policies HOST LOCAL REMOTE: requires encryption of all packets between the two addresses
ipsec_policies() {
	ip -n "$1" xfrm policy add src "$2" dst "$3" dir out tmpl src "$2" dst "$3" proto esp \
		reqid 1 mode transport &&
		ip -n "$1" xfrm policy add src "$3" dst "$2" dir in tmpl src "$3" dst "$2" \
			proto esp reqid 1 mode transport
}

# ipsec_up ALGORITHM...: sets up IPsec between the hosts
ipsec_up() {
	ipsec_states hostA add "$@" && ipsec_states hostB add "$@" &&
		ipsec_policies hostA "$IP_A" "$IP_B" &&
		ipsec_policies hostB "$IP_B" "$IP_A"
}

# wireguard_peers ADDRESS_A ADDRESS_B: gives each end the public key and the address of the other
wireguard_peers() {
	on_a wg set wgA peer "$(cat "$WORK/b.pub")" endpoint "$IP_B:51820" allowed-ips "$2/32" &&
		on_b wg set wgB peer "$(cat "$WORK/a.pub")" endpoint "$IP_A:51820" \
			allowed-ips "$1/32"
}

# wireguard_up ADDRESS_A ADDRESS_B: lays a tunnel between the interfaces wgA and wgB of the hosts,
# which get no addresses here
wireguard_up() {
	local host
	for host in a b; do
		(umask 077 && wg genkey >"$WORK/$host.key") || return
		wg pubkey <"$WORK/$host.key" >"$WORK/$host.pub"
	done
	ip -n hostA link add wgA type wireguard && ip -n hostB link add wgB type wireguard &&
		on_a wg set wgA listen-port 51820 private-key "$WORK/a.key" &&
		on_b wg set wgB listen-port 51820 private-key "$WORK/b.key" &&
		wireguard_peers "$1" "$2"
}

# packets [FILTER]: prints the number of captured packets
packets() { tcpdump -nnr "$WORK/wire.pcap" "$@" 2>/dev/null | wc -l; }
captured() { [ "$(packets)" -ge "$1" ]; }

# over KIND ADDRESS FILTER: cases about traffic to ADDRESS of host B, during which no packet that
# matches tcpdump's FILTER may be on the wire
over() {
	local kind=$1 address=$2 clear=$3 test
	server wire on_b tcpdump -i vB -s 64 -U -w "$WORK/wire.pcap"
	wait_for test -s "$WORK/wire.pcap"
	PORT=7174 server rping on_b rping -s -a "$address" -V -C 30 -S 20000
	ok "$kind: rping" on_a rping -c -a "$address" -V -C 30 -S 20000
	finish rping
	for test in ib_write_bw ib_read_bw ib_send_bw; do
		ok "$kind: $test" perftest_pair on_b on_a "$address" $test -n 50 -s 65536
		ok "$kind: $test, server" finish perftest
	done
	stop wire
	ok "$kind: packets are on the wire" captured 1000
	is "$kind: no packet is readable" "$(packets "$clear")" 0
}

# pings: prints how many answers the client of goes_on has received
pings() { grep -c '^ping data' "$WORK/client.log"; }

# pings_so_far NUMBER: true if there are at least that many
pings_so_far() { [ "$(pings)" -ge "$1" ]; }

# goes_on KIND ADDRESS AWAY BACK: the command AWAY removes the keys in mid-transfer, and no data may
# arrive then; BACK restores them, and the same connection must deliver all data. The wire is slow,
# so that no machine ends the transfer first.
goes_on() {
	local kind=$1 address=$2 away=$3 back=$4 rounds=150 had=-1
	must on_a tc qdisc add dev vA root netem delay 10ms
	PORT=7174 server rping on_b rping -s -a "$address" -v -V -C $rounds -S 1000
	server client on_a rping -c -a "$address" -v -V -C $rounds -S 1000
	ok "$kind: a transfer" wait_for pings_so_far 20
	ok "$kind: the keys are removed" "$away"
	# What had arrived may be printed later.
	until [ "$had" = "$(pings)" ]; do
		had=$(pings)
		sleep 2
	done
	ok "$kind: without keys the transfer does not end" [ "$had" -lt $rounds ]
	sleep 2
	is "$kind: without keys nothing arrives" "$(pings)" "$had"
	ok "$kind: the keys are back" "$back"
	ok "$kind: the client ends" finish client
	ok "$kind: the server ends" finish rping
	is "$kind: all data came" "$(pings)" $rounds
	must on_a tc qdisc delete dev vA root
}

# over_sctp KIND ADDRESS: switches both devices to SCTP, and runs rping
over_sctp() {
	must policy llp sctp
	PORT=7174 LLP=sctp server rping on_b rping -s -a "$2" -V -C 30
	ok "$1: the server listens over SCTP" on_b grep -q ' 7174 ' /proc/net/sctp/eps
	ok "$1: rping over SCTP" on_a rping -c -a "$2" -V -C 30
	finish rping
}
