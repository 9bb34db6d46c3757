#!/bin/bash
# openmpi: Open MPI over libfabric's verbs;ofi_rxm, with two ranks on the two devices: thousands of
# messages in each direction, each byte compared (tests/programs/mpi_exchange.cc). The settings are
# those of Documentation/guide.rst.
# Machine: programs
. "$(dirname "$0")/lib.sh"

top=$(dirname "$0")/../..

# The processes of mpirun communicate over loopback, so both ranks are in one namespace.
hosts_here
export FI_OFI_RXM_USE_SRX=1 FI_MR_CACHE_MAX_COUNT=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi
export OMPI_MCA_opal_common_ofi_provider_include='verbs;ofi_rxm'

# rank PROGRAM OPTION...: runs one rank on its own device
cat >"$WORK/rank" <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 0 ] && export FI_VERBS_IFACE=vA || export FI_VERBS_IFACE=vB
exec "$@"
END
chmod +x "$WORK/rank"

messages=4000
before_a=$(counter "$DEV_A" tx_octets) before_b=$(counter "$DEV_B" tx_octets)
LIMIT=600 ok "$messages messages in each direction" mpirun --oversubscribe -np 2 "$WORK/rank" \
	"$top/build/programs/mpi_exchange" $messages
is 'both ranks have compared all messages' \
	"$(grep -c "^rank [01]: compared $((2 * messages)) messages" "$WORK/out")" 2
ok 'A has sent messages by RDMA' test "$(counter "$DEV_A" tx_octets)" -gt $((before_a + 5000000))
ok 'B has sent messages by RDMA' test "$(counter "$DEV_B" tx_octets)" -gt $((before_b + 5000000))
is 'no message without a receive' \
	"$(counter "$DEV_A" no_buffer_errors) $(counter "$DEV_B" no_buffer_errors)" '0 0'
done_testing
