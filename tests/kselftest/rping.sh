#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# rping between two network namespaces, over TCP and SCTP, IPv4 and IPv6. Both ends compare data.
. "$(dirname "$0")/lib.sh"
needs ip rdma rping ss
plan 4

a=kwarp-a-$$
b=kwarp-b-$$
work=$(mktemp -d)
cleanup() {
	rm -rf "$work"
	rdma link delete kwarp-a 2>/dev/null
	rdma link delete kwarp-b 2>/dev/null
	ip netns del "$a"
	ip netns del "$b"
}
trap cleanup EXIT

# end NETNS NETDEV NUMBER: configures one end of the wire
end() {
	ip -n "$1" link set lo up
	ip -n "$1" addr add "10.0.0.$3/24" dev "$2"
	ip -n "$1" addr add "fd00::$3/64" dev "$2" nodad
	ip -n "$1" link set "$2" up
}

listens() {
	if [ "$1" = tcp ]; then
		ip netns exec "$b" ss -Htln 'sport = :7174' | grep -q .
	else
		ip netns exec "$b" awk '$6 == 7174 { found = 1 } END { exit !found }' \
			/proc/net/sctp/eps
	fi
}

# rpings LLP ADDRESS: true if 20 round trips succeed over that protocol. Either rping may exit with
# an error after its work, because its thread may wake up when the event channel is closed, so we
# count lines.
rpings() {
	ip netns exec "$b" timeout 60 rping -s -a "$2" -v -C 20 >"$work/server" 2>&1 &
	server=$!
	tries=0
	until listens "$1"; do
		tries=$((tries + 1))
		if [ "$tries" -gt 30 ]; then
			echo "the server does not listen over $1"
			kill "$server"
			wait "$server"
			return 1
		fi
		sleep 1
	done
	ip netns exec "$a" timeout 60 rping -c -a "$2" -v -V -C 20 >"$work/client" 2>&1
	wait "$server"
	cat "$work/server" "$work/client"
	[ "$(grep -c '^server ping data: ' "$work/server")" -eq 20 ] &&
		[ "$(grep -c '^ping data: ' "$work/client")" -eq 20 ]
}

ip netns add "$a"
ip netns add "$b"
ip link add vA netns "$a" type veth peer name vB netns "$b"
end "$a" vA 1
end "$b" vB 2
ip netns exec "$a" rdma link add kwarp-a type kwarp netdev vA
ip netns exec "$b" rdma link add kwarp-b type kwarp netdev vB
modprobe -q -a ib_uverbs rdma_ucm

for llp in tcp sctp; do
	if ! echo "$llp" >/sys/class/infiniband/kwarp-a/kwarp/llp 2>/dev/null; then
		skip "$llp, IPv4" 'this kernel has no SCTP'
		skip "$llp, IPv6" 'this kernel has no SCTP'
		continue
	fi
	echo "$llp" >/sys/class/infiniband/kwarp-b/kwarp/llp
	ok "$llp, IPv4" rpings "$llp" 10.0.0.2
	ok "$llp, IPv6" rpings "$llp" fd00::2
done
finish
