// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "attack.h"

#include <atomic>
#include <functional>
#include <iostream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "../iwarp/peer.h"
#include "../victim/rings.h"
#include "../victim/victim.h"

namespace peer {

using namespace iwarp;
using namespace victim;

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t depth = 16;

// A QP in INIT without a connection.
class InitQp {
public:
	explicit InitQp(Victim &v)
	{
		ibv_qp_init_attr a{};
		a.send_cq = a.recv_cq = v.cq();
		a.cap = {depth, depth, 4, 4, 64};
		a.qp_type = IBV_QPT_RC;
		qp = ibv_create_qp(v.pd(), &a);
		if (!qp)
			throw std::runtime_error("ibv_create_qp");
		ibv_qp_attr attr{};
		attr.qp_state = IBV_QPS_INIT;
		attr.port_num = 1;
		attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
		if (ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					  IBV_QP_ACCESS_FLAGS))
			throw std::runtime_error("ibv_modify_qp");
	}
	~InitQp() { ibv_destroy_qp(qp); }

	ibv_qp *qp;
};

// Receives and discards all data of the victim, so that TCP's window stays open.
class Drain {
public:
	explicit Drain(const Peer &p)
		: thread_([this, &s = p.connection()] {
			  Bytes o;
			  while (!stop_)
				  if (o.clear(); s.receive(o, Millis{20}) != Event::data)
					  std::this_thread::sleep_for(Millis{1});
		  })
	{
	}
	~Drain()
	{
		stop_ = true;
		thread_.join();
	}

private:
	std::atomic<bool> stop_ = false;
	std::thread thread_;
};

using Maps = std::vector<Mapping>;
using Lessons = std::vector<Lesson>;

const Lesson &lesson_for(const Lessons &lessons, const Mapping &m)
{
	static const Lesson none;
	for (const Lesson &l : lessons)
		if (l.len == m.len && !l.counters.empty())
			return l;
	return none;
}

// A connection between the victim and a peer, and the memory that its QP shares with the kernel.
struct Link {
	explicit Link(Victim &v, bool accept = true)
	{
		Maps before = device_mappings();
		unsigned n = v.connections();
		peer.emplace(Peer::reach(v.address(), lab().peer_socket()));
		peer->send_request(StartupFrame::request(1));
		connection = &v.connection(n);
		maps = added(before, device_mappings());
		if (!accept)
			return;
		peer->receive_reply();
		peer->send_message(pattern(10));
		works = v.completion(Millis{100}).has_value();
	}

	std::optional<Peer> peer;
	Connection *connection;
	Maps maps;
	bool works = false; // the first message arrived
};

Lessons learn(Victim &v)
{
	Link link(v);
	Connection &c = *link.connection;
	Drain drain(*link.peer);
	std::vector<Pupil> pupils(link.maps.begin(), link.maps.end());
	auto watch = [&](auto post) {
		for (Pupil &p : pupils)
			p.before_post();
		post();
		for (Pupil &p : pupils)
			p.after_post();
	};
	for (int i = 0; i < 6; i++) {
		watch([&] { c.post_send(*v.rw, 0, 100); });
		watch([&] { c.post_write(*v.rw, 0, 3000, 1, 2); });
		watch([&] { c.post_receive(0); });
		v.completion();
		v.completion();
	}
	watch([&] { c.post_read(*v.rw, 0, 100, 1, 2); });
	Lessons lessons;
	for (Pupil &p : pupils)
		lessons.push_back(p.lesson());
	return lessons;
}

ibv_qp_state state_of(ibv_qp *qp)
{
	ibv_qp_attr attr{};
	ibv_qp_init_attr init{};
	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) ? IBV_QPS_ERR : attr.qp_state;
}

constexpr unsigned rounds_in_error = 5;

// The environment's name for the descriptor of start_attack().
constexpr const char *started_fd = "ATTACK_STARTED";

void report_start()
{
	const char *fd = getenv(started_fd);
	if (!fd)
		return;
	if (write(std::stoi(fd), "", 1) != 1)
		throw std::runtime_error("nobody waits for the attack");
	unsetenv(started_fd);
}

// Two threads corrupt the same mappings; one of them also rings the doorbells. Ends after @time, or
// a few rounds after the QP has entered the error state. Calls @halfway after half the time.
void hammer(ibv_qp *qp, const Maps &maps, const Lessons &lessons, uint32_t seed, Millis time,
	    const std::function<void()> &halfway = {})
{
	std::atomic<bool> stop = false;
	auto scribblers = [&](uint32_t s) {
		std::vector<Scribbler> all;
		for (const Mapping &m : maps)
			all.emplace_back(m, ++s, lesson_for(lessons, m));
		return all;
	};
	std::thread second([&] {
		auto mine = scribblers(seed + 500);
		while (!stop) {
			for (Scribbler &s : mine)
				s.mutate();
			std::this_thread::yield();
		}
	});
	auto mine = scribblers(seed);
	auto begin = Clock::now();
	bool turned = !halfway;
	unsigned in_error = 0;
	for (uint32_t round = 0; Clock::now() < begin + time && in_error < rounds_in_error;
	     round++) {
		for (Scribbler &s : mine) {
			if (round % 16 == 15)
				s.fill();
			else if (round % 4 == 3)
				s.mutate();
			else
				s.mutate_elements();
		}
		ring_doorbell(qp, false);
		ring_doorbell(qp, true);
		report_start();
		if (!turned && Clock::now() > begin + time / 2) {
			halfway();
			turned = true;
		}
		in_error += state_of(qp) == IBV_QPS_ERR;
	}
	stop = true;
	second.join();
}

constexpr Millis round_time{15};
constexpr unsigned links_per_victim = 12;

// Attacks a QP in INIT without a connection, then a QP in INIT whose connection is accepted during
// the attack.
void in_init(Victim &v, const Lessons &lessons, uint32_t seed, Millis time)
{
	for (auto end = Clock::now() + time; Clock::now() < end; seed++) {
		Maps before = device_mappings();
		InitQp q(v);
		hammer(q.qp, added(before, device_mappings()), lessons, seed, round_time);

		Victim held({.answer = Answer::hold});
		Link link(held, false);
		Drain drain(*link.peer);
		hammer(link.connection->qp(), link.maps, lessons, seed, 2 * round_time, [&] {
			try {
				link.connection->accept();
			} catch (const std::system_error &) {
			}
			link.peer->out = FpduEncoder();
			link.peer->try_send(send_segment(1, pattern(10)));
		});
	}
}

// Attacks QPs in RTS: the rings of the QPs of many connections, then those of a QP and its CQ.
void in_rts(Victim &v, const Lessons &lessons, uint32_t seed, Millis time)
{
	for (auto end = Clock::now() + time; Clock::now() < end; seed++) {
		for (unsigned n = 0; n < links_per_victim && Clock::now() < end; n++) {
			Link link(v);
			if (!link.works)
				return; // its CQ has overflowed: a new victim is needed
			Drain drain(*link.peer);
			hammer(link.connection->qp(), link.maps, lessons, seed * 100 + n,
			       round_time);
			while (v.completion(Millis{0}))
				;
		}
		// A corrupted CQ can no longer be polled, so this attack has its own victim.
		Maps before = device_mappings();
		Victim other;
		Link link(other);
		Drain drain(*link.peer);
		hammer(link.connection->qp(), added(before, device_mappings()), lessons, seed,
		       2 * round_time);
	}
}

bool maps_somewhere(int fd, off_t offset, size_t len)
{
	void *m = mmap(nullptr, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (m == MAP_FAILED)
		return false;
	munmap(m, len);
	return true;
}

// Maps offsets of another context, lengths beyond a ring, and rings of a destroyed QP. Returns the
// number of mappings that succeeded and must not.
int mapping()
{
	const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
	constexpr off_t pages_tried = 4096;
	Victim v;
	Maps before = device_mappings(), own;
	std::vector<std::pair<uint8_t *, size_t>> kept;
	int faults = 0;
	auto fault = [&](const char *what) {
		std::cout << "mapping: " << what << "\n";
		faults++;
	};
	{
		InitQp q(v);
		own = added(before, device_mappings());
		for (const Mapping &m : own) {
			if (maps_somewhere(v.verbs()->cmd_fd, m.offset, m.len + page))
				fault("a ring and the page after it");
			void *k = mmap(nullptr, m.len, PROT_READ | PROT_WRITE, MAP_SHARED,
				       v.verbs()->cmd_fd, m.offset);
			if (k != MAP_FAILED)
				kept.emplace_back(static_cast<uint8_t *>(k), m.len);
		}
		ibv_context *other = ibv_open_device(v.verbs()->device);
		if (!other)
			throw std::runtime_error("ibv_open_device");
		for (off_t n = 0; n < pages_tried; n++)
			for (size_t len : {1, 2, 5, 64})
				if (maps_somewhere(other->cmd_fd, n * static_cast<off_t>(page),
						   len * page))
					fault("memory in a context without objects");
		ibv_close_device(other);
	}
	// After the QP is destroyed its memory stays mapped, and writing to it has no effect.
	for (auto &[m, len] : kept) {
		for (size_t at = 0; at < len; at++)
			m[at] = static_cast<uint8_t>(at);
		munmap(m, len);
	}
	for (const Mapping &m : own)
		if (maps_somewhere(v.verbs()->cmd_fd, m.offset, m.len))
			fault("the ring of a destroyed QP");
	// Without a mapping of its own, the attack has tried nothing.
	return faults || own.empty() || kept.size() != own.size();
}

// The 32-bit words of all mappings as one array.
class Words {
public:
	explicit Words(const Maps &maps)
	{
		for (const Mapping &m : maps)
			for (size_t at = 0; at + 4 <= m.len; at += 4)
				all_.push_back(reinterpret_cast<volatile uint32_t *>(m.addr + at));
	}

	volatile uint32_t &operator[](size_t n) const { return *all_[n]; }
	size_t size() const { return all_.size(); }
	std::vector<uint32_t> image() const
	{
		std::vector<uint32_t> copy;
		for (volatile uint32_t *word : all_)
			copy.push_back(uint32_t{*word});
		return copy;
	}

private:
	std::vector<volatile uint32_t *> all_;
};

// Moves the producer index of the send queue backwards while a Read without a response is
// outstanding, with a ring full of LOCAL_INVs, which send nothing. The kernel must not process the
// ring until its own index wraps around to the producer index. Returns 0 if the QP stays in RTS,
// else the number of the step that failed.
int backwards()
{
	Victim v;
	Link link(v);
	Drain drain(*link.peer);
	Connection &c = *link.connection;
	ibv_mw *window = ibv_alloc_mw(v.pd(), IBV_MW_TYPE_2);
	if (!window || (!link.works && !v.completion()))
		return 1;
	auto invalidate = [&] {
		ibv_send_wr wr{}, *bad;
		wr.opcode = IBV_WR_LOCAL_INV;
		wr.invalidate_rkey = window->rkey;
		int ret = ibv_post_send(c.qp(), &wr, &bad);
		ring_doorbell(c.qp(), false); // processes it now, without the kernel's timer
		return ret;
	};
	const Words words(link.maps);
	for (int i = 0; i < 1000; i++)
		invalidate();
	const auto good = words.image();
	c.post_read(*v.rw, 0, 100, 1, 2);
	auto before = words.image();
	if (invalidate())
		return 2;
	auto after = words.image();
	for (int i = 0; i < 3; i++)
		invalidate();
	unsigned moved = 0;
	for (size_t n = 0; n < words.size(); n++)
		if (after[n] == before[n] + 1) {
			words[n] -= 2;
			moved++;
		} else {
			words[n] = good[n];
		}
	ring_doorbell(c.qp(), false);
	return c.state() != IBV_QPS_RTS ? 3 : moved ? 0 : 4;
}

} // namespace

int attack_main(const std::vector<std::string> &args)
{
	const std::string &what = args.at(0);
	if (what == "mapping")
		return mapping();
	if (what == "backwards")
		return backwards();
	uint32_t seed = static_cast<uint32_t>(std::stoul(args.at(1)));
	Millis time{std::stoul(args.at(2))};
	for (auto end = Clock::now() + time; Clock::now() < end; seed += 100) {
		Victim v;
		Lessons lessons = learn(v);
		(what == "init" ? in_init : in_rts)(v, lessons, seed, std::min(time, Millis{500}));
	}
	return 0;
}

int start_attack(const std::vector<std::string> &args, int started)
{
	int pid = fork();
	if (pid) {
		close(started);
		return pid;
	}
	if (started >= 0)
		setenv(started_fd, std::to_string(started).c_str(), 1);
	std::vector<char *> argv{const_cast<char *>("attack"), const_cast<char *>("--attack")};
	for (const std::string &a : args)
		argv.push_back(const_cast<char *>(a.c_str()));
	argv.push_back(nullptr);
	execv("/proc/self/exe", argv.data());
	_exit(127);
}

} // namespace peer
