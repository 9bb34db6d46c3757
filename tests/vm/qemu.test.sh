#!/bin/bash
# qemu: live migration over RDMA between two QEMUs, with and without pinning all memory. The memory
# of the guest contains a random file and does not change, because its processor is stopped. The
# memory of both QEMUs is compared.
# Machine: programs
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
size=64 # MiB

# machine NAME HOST OPTION...: starts a QEMU, which gets its commands over a socket
machine() {
	local name=$1 host=$2
	shift 2
	rm -f "$WORK/$name.qmp"
	server "$name" "$host" qemu-system-x86_64 -accel tcg -M q35 -m $size -S -nodefaults \
		-display none -qmp "unix:$WORK/$name.qmp,server,nowait" "$@"
	wait_for test -S "$WORK/$name.qmp"
}

# tell NAME COMMAND [ARGUMENTS]: gives a QMP command with its arguments in JSON; prints the answer
tell() {
	python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
lines = s.makefile("rw")
lines.readline()
def tell(command, arguments):
    lines.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
    lines.flush()
    while True:
        answer = json.loads(lines.readline())
        if "event" not in answer:
            return answer
tell("qmp_capabilities", {})
answer = tell(sys.argv[2], json.loads(sys.argv[3]))
print(json.dumps(answer))
sys.exit("error" in answer)' "$WORK/$1.qmp" "$2" "${3:-{\}}"
}

pin_all() {
	tell "$1" migrate-set-capabilities \
		"{\"capabilities\": [{\"capability\": \"rdma-pin-all\", \"state\": $2}]}"
}

status_is() { tell "$1" query-migrate | grep -q "\"status\": \"$2\""; }

memory() {
	tell "$1" pmemsave \
		"{\"val\": 0, \"size\": $((size << 20)), \"filename\": \"$WORK/$1.memory\"}"
}

# A third of the memory is random; the rest is zero, and migration does not transfer zero pages.
head -c $(((size << 20) / 3)) /dev/urandom >"$WORK/content"
for pin in false true; do
	name="rdma-pin-all $pin"
	machine source on_a -device "loader,file=$WORK/content,addr=0x1000000,force-raw=on"
	machine target on_b -incoming defer
	before=$(counter "$DEV_B" rx_octets)
	ok "$name: source" pin_all source $pin
	ok "$name: target" pin_all target $pin
	ok "$name: the target waits" \
		tell target migrate-incoming "{\"uri\": \"rdma:$IP_B:4444\"}"
	ok "$name: the target listens" wait_for listening hostB 4444
	ok "$name: the source begins" tell source migrate "{\"uri\": \"rdma:$IP_B:4444\"}"
	ok "$name: completed at the source" wait_for status_is source completed
	ok "$name: completed at the target" wait_for status_is target completed
	tell source query-migrate >"$WORK/out"
	ok "$name: memory of the source" memory source
	ok "$name: memory of the target" memory target
	ok "$name: the memory is the same" same_data "$WORK/source.memory" "$WORK/target.memory"
	ok "$name: the memory contains the file" cmp -i $((1 << 24)):0 \
		-n "$(stat -c %s "$WORK/content")" "$WORK/target.memory" "$WORK/content"
	ok "$name: the data went over RDMA" test "$(counter "$DEV_B" rx_octets)" \
		-gt $((before + $(stat -c %s "$WORK/content")))
	stop source
	stop target
done
done_testing
