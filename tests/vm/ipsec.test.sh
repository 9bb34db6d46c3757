#!/bin/bash
# ipsec: IPsec encrypts the traffic of the devices (ESP in transport mode, RFC 5042 and RFC 7146).
# The suite checks the data and the packets on the wire, and deletes and adds security associations
# in mid-transfer.
# Timeout: 600
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/encrypted.sh"

hosts_up
KEY=0x$(head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \n')

cipher() { "$@" aead 'rfc4106(gcm(aes))' "$KEY" 128; }
away() { ipsec_states hostA delete && ipsec_states hostB delete; }
back() { cipher ipsec_states hostA add && cipher ipsec_states hostB add; }

must cipher ipsec_up
ok 'IPsec: ping' on_a ping -qc 1 $IP_B

over IPsec $IP_B 'tcp or sctp'
goes_on IPsec $IP_B away back
over_sctp IPsec $IP_B
done_testing
