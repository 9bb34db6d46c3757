// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "counters.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kwarpctl {
namespace {

using Meaning = std::pair<std::string_view, std::string_view>;

// Without counters that are sums of others.
constexpr std::array failures{
	Meaning{"startup_timeouts",
		"peers did not answer in connection set-up: is the program slow, "
		"or does a firewall drop packets?"},
	Meaning{"startup_closed", "connections were closed or refused in set-up: does a program "
				  "listen there?"},
	Meaning{"startup_key_errors",
		"peers sent no startup frame: do they use iWARP on that port?"},
	Meaning{"startup_revision_errors",
		"peers requested a revision of MPA that policy mpa_rev or "
		"permissive excludes"},
	Meaning{"startup_length_errors", "wrong length of private data, or wrong enhanced data"},
	Meaning{"startup_ird_errors", "no agreement on IRD and ORD: see policy ird and ord"},
	Meaning{"startup_rtr_errors",
		"no agreement on the ready-to-receive indication: see policy p2p"},
	Meaning{"startup_crc_errors", "the peer declined CRCs, but policy crc requires CRCs"},
	Meaning{"rx_rejects", "the peer's program rejected connections"},
	Meaning{"tx_rejects", "a program on this host rejected connections, or did not answer"},
	Meaning{"backlog_drops", "listeners were busy: see policy backlog, or accept faster"},
	Meaning{"linger_drops", "too many ended connections waited for the peer's FIN"},
	Meaning{"revision_fallbacks", "peers do not support MPA revision 2; revision 1 was tried"},
	Meaning{"path_failures", "SCTP: a path did not answer"},
	Meaning{"rendezvous_refused", "requests at rendezvous_port for which no queue pair waited"},
	Meaning{"rendezvous_psn_errors",
		"the two ends of a queue pair without rdma_cm have different packet "
		"sequence numbers: sq_psn of one must be rq_psn of the other"},
	Meaning{"rendezvous_timeouts",
		"queue pairs did not find their partner: do both devices have the "
		"same rendezvous_port?"},
	Meaning{"rendezvous_disabled",
		"programs connect queue pairs without rdma_cm (ibv_rc_pingpong, perftest "
		"without -R), which needs policy rendezvous_port"},
	Meaning{"llp_lost", "connections were reset, or ended in the middle of a message"},
	Meaning{"tx_terminate", "connections ended with an error found by this host"},
	Meaning{"rx_terminate", "connections ended with an error found by the peer"},
	Meaning{"crc_errors", "data were corrupted in transit, or the peer computes CRCs wrongly"},
	Meaning{"marker_errors", "markers that do not point to the start of their FPDU"},
	Meaning{"chunk_errors", "SCTP: chunks that DDP does not permit"},
	Meaning{"ssn_errors", "SCTP: DDP-SSN out of range"},
	Meaning{"session_errors", "SCTP: session control out of sequence"},
	Meaning{"length_errors", "ULPDUs with a wrong length"},
	Meaning{"version_errors", "peers use another version of DDP or RDMAP"},
	Meaning{"opcode_errors", "peers sent unknown or unexpected opcodes"},
	Meaning{"sequence_errors", "messages out of sequence"},
	Meaning{"no_buffer_errors", "a message arrived, but no receive was posted"},
	Meaning{"too_long_errors", "a message was longer than the receive"},
	Meaning{"stag_errors", "peers used an invalid STag"},
	Meaning{"bounds_errors", "peers accessed memory beyond the bounds of a region"},
	Meaning{"access_errors", "peers had no right to access a region"},
	Meaning{"cq_overflows",
		"a program does not read its completion queue, or made it too small"},
};

} // namespace

std::string_view failure_of(std::string_view counter)
{
	const auto found = std::ranges::find(failures, counter, &Meaning::first);
	return found == failures.end() ? std::string_view() : found->second;
}

} // namespace kwarpctl
