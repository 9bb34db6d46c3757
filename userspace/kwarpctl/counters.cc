// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "counters.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kwarpctl {
namespace {

using Meaning = std::pair<std::string_view, std::string_view>;

// Sums of others are left out.
constexpr std::array failures{
	Meaning{"startup_timeouts",
		"peers did not answer in connection set-up: is the program slow, "
		"or is a firewall on the way?"},
	Meaning{"startup_closed", "peers, or the network, closed connections in set-up: nothing "
				  "listens there, or it refused"},
	Meaning{"startup_key_errors",
		"peers sent no startup frame: do they speak iWARP on that port?"},
	Meaning{"startup_revision_errors",
		"peers asked for a revision of MPA that policy mpa_rev or "
		"permissive excludes"},
	Meaning{"startup_length_errors", "private data with a wrong length"},
	Meaning{"startup_ird_errors", "no agreement on IRD and ORD: see policy ird and ord"},
	Meaning{"startup_rtr_errors", "no agreement on the ready-to-receive frame: see policy p2p"},
	Meaning{"startup_crc_errors", "the peer wants no CRC, and policy crc requires one"},
	Meaning{"rx_rejects", "the peer's program rejected connections"},
	Meaning{"tx_rejects", "a program here rejected connections, or did not answer"},
	Meaning{"backlog_drops", "listeners were busy: see policy backlog, or accept faster"},
	Meaning{"linger_drops", "too many ended connections waited for their peers"},
	Meaning{"revision_fallbacks", "peers do not know MPA revision 2; revision 1 was tried"},
	Meaning{"path_failures", "SCTP: a path did not answer"},
	Meaning{"rendezvous_refused",
		"partners came to rendezvous_port that no queue pair waited for"},
	Meaning{"rendezvous_timeouts",
		"queue pairs did not find their partner: have both devices the "
		"same rendezvous_port?"},
	Meaning{"rendezvous_disabled",
		"programs bring up queue pairs without rdma_cm (ibv_rc_pingpong, perftest "
		"without -R), which needs policy rendezvous_port"},
	Meaning{"llp_lost", "connections were reset, or ended in the middle of a message"},
	Meaning{"tx_terminate", "connections ended with an error found here"},
	Meaning{"rx_terminate", "connections ended with an error found by the peer"},
	Meaning{"crc_errors", "data were damaged on the way, or the peer computes another CRC"},
	Meaning{"marker_errors", "markers where none belong"},
	Meaning{"chunk_errors", "SCTP: chunks that DDP does not allow"},
	Meaning{"ssn_errors", "SCTP: DDP-SSN out of range"},
	Meaning{"session_errors", "SCTP: session control out of sequence"},
	Meaning{"length_errors", "ULPDUs with a wrong length"},
	Meaning{"version_errors", "peers speak another version of DDP or RDMAP"},
	Meaning{"opcode_errors", "peers sent opcodes that are unknown or out of place"},
	Meaning{"sequence_errors", "messages out of sequence"},
	Meaning{"no_buffer_errors", "a message came, and no receive was posted"},
	Meaning{"too_long_errors", "a message was longer than the receive"},
	Meaning{"stag_errors", "peers used an STag that is not valid"},
	Meaning{"bounds_errors", "peers went beyond the bounds of a region"},
	Meaning{"access_errors", "peers lacked a right to a region"},
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
