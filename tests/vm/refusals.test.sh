#!/bin/bash
# refusals: programs that use libibverbs or librdmacm but cannot use an iWARP device, for the
# reasons in Documentation/consumers.rst. Each must print an error and exit, and the device must
# work for other programs afterwards.
# Machine: programs
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"

# refused NAME COMMAND...: passes if COMMAND exits with an error; a death by a signal is a failed
# case
refused() {
	local name=$1 rc=0
	shift
	run "$@" || rc=$?
	echo "exit status $rc: $*" >>"$WORK/out"
	report $((rc == 0 || rc == 124 || (rc > 128 && rc < 192))) "$name" "$WORK/out"
}

# UCX finds the device, but does not use devices of this type.
ok 'ucx_info -d' on_a ucx_info -d
is 'ucx_info -d: no kwarp' "$(grep -i kwarp "$WORK/out")" ''
has 'ucx_info -d: TCP on the same netdev' 'Device: vA'
ok 'ucx_info -d, its log' on_a env UCX_LOG_LEVEL=debug ucx_info -d
has 'ucx_info -d: why' 'of type iWARP is not supported'
refused 'UCX, transport rc on kwarp' \
	on_a env UCX_NET_DEVICES="$DEV_A:1" UCX_TLS=rc ucx_info -ep -u t
has 'UCX: its error' "network device '$DEV_A:1' is not available, please use one or more of"
has 'UCX: and' 'no usable transports/devices'

# programs that communicate with InfiniBand's subnet manager by MADs, which iWARP does not have
refused 'ibsrpdm' on_a ibsrpdm
has 'ibsrpdm: its error' 'Failed to get default CA'
refused 'ibacm' on_a ibacm -P
grep -h ERROR /var/log/ibacm.log >"$WORK/out"
has 'ibacm: the error in its log' 'unable to open any devices'
refused 'ib_acme' on_a ib_acme -d $IP_B -s $IP_A
has 'ib_acme: its error' 'unable to contact service'
refused 'ibnetdiscover' on_a ibnetdiscover
has 'ibnetdiscover: its error' "can't open UMAD port"

# Omni-Path's tools look for hfi1 devices by name.
refused 'opainfo' on_a opainfo
has 'opainfo: its error' 'No HFIs found'
refused 'opasaquery' on_a opasaquery
has 'opasaquery: its error' 'No hfi names found'

PORT=7174 server rping on_b rping -s -a $IP_B -V -C 5
ok 'the device serves others' on_a rping -c -a $IP_B -V -C 5
ok 'the device serves others: server' finish rping
done_testing
