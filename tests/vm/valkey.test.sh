#!/bin/bash
# valkey: runs the commands of Documentation/guide.rst about Valkey exactly as they are written,
# with the server and the test program that scripts/build/programs.sh has built by the commands of
# the page.
# Machine: programs
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/page.sh"
page=$(realpath "$(dirname "$0")/../../Documentation/guide.rst")

cd /usr/local/src || bail 'no /usr/local/src'
[ -x valkey-8.1.1/tests/rdma/rdma-test ] ||
	bail 'no Valkey; build/log/programs-valkey.log of the build machine says why'
drivers_load
must ip link add eth0 type veth peer name wire
must ip addr add 192.0.2.1/24 dev eth0
must ip link set eth0 up
must page_second wire
must rdma link add kwarp0 type kwarp netdev eth0
must ip netns exec second rdma link add kwarp2 type kwarp netdev eth0
must wait_for uverbs_node kwarp2
page_steps "$page" Valkey
done_testing
