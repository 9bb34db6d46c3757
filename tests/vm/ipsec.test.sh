#!/bin/bash
# ipsec: IPsec encrypts the traffic of the devices (ESP in transport mode, RFC 5042 and RFC 7146).
# The suite checks the data and the packets on the wire, and deletes and adds security associations
# in mid-transfer.
# Timeout: 600
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/encrypted.sh"

hosts_up
KEY=0x$(head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \n')

# state HOST add|delete: adds or deletes the security associations of both directions
state() {
	local host=$1 action=$2 pair crypto=
	for pair in "$IP_A $IP_B 0x1001" "$IP_B $IP_A 0x1002"; do
		# shellcheck disable=SC2086 # three words
		set -- $pair
		[ "$action" = delete ] ||
			crypto="reqid 1 mode transport aead rfc4106(gcm(aes)) $KEY 128"
		# shellcheck disable=SC2086 # words
		ip -n "$host" xfrm state "$action" src "$1" dst "$2" proto esp spi "$3" $crypto ||
			return 1
	done
}

# policies HOST LOCAL REMOTE: requires encryption of all packets between the two addresses
policies() {
	ip -n "$1" xfrm policy add src "$2" dst "$3" dir out tmpl src "$2" dst "$3" proto esp \
		reqid 1 mode transport &&
		ip -n "$1" xfrm policy add src "$3" dst "$2" dir in tmpl src "$3" dst "$2" \
			proto esp reqid 1 mode transport
}

away() { state hostA delete && state hostB delete; }
back() { state hostA add && state hostB add; }

must back
must policies hostA $IP_A $IP_B
must policies hostB $IP_B $IP_A
ok 'IPsec: ping' on_a ping -qc 1 $IP_B

over IPsec $IP_B 'tcp or sctp'
goes_on IPsec $IP_B away back
over_sctp IPsec $IP_B
done_testing
