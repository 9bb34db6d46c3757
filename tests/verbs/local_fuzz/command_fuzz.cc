// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Fuzzes the commands of a device: write() and ioctl() of uverbs and the driver's own methods, with
// every field and every length at its limits, and mmap(). Prints TAP; a failed round prints its
// seed, and "--seed SEED --rounds 1" repeats it.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/kwarp-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "campaign.h"
#include "commands.h"
#include "lab/host.h"

namespace local_fuzz {
namespace {

constexpr size_t page = 4096;
constexpr size_t most_objects = 24; // of a class
constexpr uint64_t heavy_bytes = 128 << 20;
constexpr size_t buffer_size = 4096;

// The result of each command, and how often it occurred.
class Done {
public:
	void count(const char *name, int error = 0)
	{
		std::lock_guard lock(mutex_);
		done_[std::string(name) + ": " + (error ? strerrorname_np(error) : "done")]++;
	}
	std::map<std::string, uint64_t> all() const
	{
		std::lock_guard lock(mutex_);
		return done_;
	}

private:
	mutable std::mutex mutex_;
	std::map<std::string, uint64_t> done_;
};

struct Totals {
	std::atomic<uint64_t> calls = 0, good = 0, maps = 0;
	Done done;
};

// The first address of host B's device, as a GID.
const std::array<uint8_t, 16> &peer_gid()
{
	static const std::array<uint8_t, 16> gid = [] {
		std::array<uint8_t, 16> bytes{};
		std::ifstream file(lab::b().sysfs() + "/ports/1/gids/0");
		std::string text;
		file >> text;
		if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1)
			throw std::runtime_error("no GID of " + lab::b().device);
		return bytes;
	}();
	return gid;
}

// One thread's part of a round.
class Caller {
public:
	Caller(uint64_t seed, int fd, Pool &pool, const Arena &arena, unsigned bad, Totals &totals)
		: dice_(seed), fd_(fd), pool_(pool), arena_(arena), bad_(bad), totals_(totals)
	{
	}

	void step()
	{
		const uint32_t what = dice_.below(100);

		if (what < 55)
			write_command(
				commands()[dice_.below(static_cast<uint32_t>(commands().size()))]);
		else if (what < 90)
			call_method(
				methods()[dice_.below(static_cast<uint32_t>(methods().size()))]);
		else if (what < 97)
			map();
		else if (what < 98)
			connect();
		else
			garbage();
		trim();
	}

	// Calls a command by its name, without errors.
	bool good(const char *name)
	{
		const unsigned bad = std::exchange(bad_, 0);
		bool done = false;
		for (const Command &c : commands())
			if (!strcmp(c.name, name))
				done = write_command(c);
		bad_ = bad;
		return done;
	}

private:
	bool wrong() { return dice_.below(1000) < bad_; }
	uint64_t limit(uint8_t width)
	{
		const uint64_t value = width == 8 ? limit_64(dice_) : limit_32(dice_);
		return width >= 4 || dice_.chance(50) ? value : dice_.word();
	}

	// ---- requests

	void set(uint8_t *request, const Field &f, uint64_t value)
	{
		if (f.means == Means::gid && !wrong())
			memcpy(request + f.offset, peer_gid().data(), f.width);
		else
			memcpy(request + f.offset, &value,
			       std::min<size_t>(f.width,
						sizeof(value))); // little endian, as the machine is
	}

	void fill(const Command &c, uint8_t *request)
	{
		for (const Field &f : c.fields)
			set(request, f,
			    wrong() ? limit(f.width) :
				      typical(f.means, f.argument, f.of, pool_, arena_, dice_));
		if (wrong())
			request[dice_.below(static_cast<uint32_t>(c.in + 1))] =
				static_cast<uint8_t>(dice_.word());
		if (wrong() && c.in >= 8) {
			const uint64_t value = limit_64(dice_);
			memcpy(request + dice_.below(static_cast<uint32_t>(c.in / 8)) * 8, &value,
			       sizeof(value));
		}
	}

	uint16_t length(size_t right)
	{
		const auto n = static_cast<uint16_t>(right);
		return wrong() ? static_cast<uint16_t>(dice_.any({0U, 1U, n - 1U, n + 1U, n + 2U,
								  n * 2U, 65535U, 32768U,
								  dice_.below(64)})) :
				 n;
	}

	bool write_command(const Command &c)
	{
		alignas(8) uint8_t buffer[buffer_size] = {};
		uint8_t *answer = arena_.base() + Arena::size / 2 +
				  dice_.below(Arena::size / 4) / 64 * 64;
		uint8_t *request = buffer + sizeof(ib_uverbs_cmd_hdr) +
				   (c.extended ? sizeof(ib_uverbs_ex_cmd_hdr) : 0);
		ib_uverbs_cmd_hdr header{};
		size_t total;

		fill(c, request);
		header.command = wrong() ? c.number ^ 1U << dice_.below(32) : c.number;
		const uint64_t response = wrong() ? arena_.bad(dice_) :
						    reinterpret_cast<uintptr_t>(answer);
		memset(answer, 0, 256);
		if (c.extended) {
			ib_uverbs_ex_cmd_hdr ex{};
			ex.response = c.out || wrong() ? response : 0;
			ex.provider_in_words = length(c.driver_in / 8);
			ex.provider_out_words = length(c.driver_out / 8);
			ex.cmd_hdr_reserved = wrong() ? limit_32(dice_) : 0;
			header.in_words = length(c.in / 8);
			header.out_words = length(c.out / 8);
			memcpy(buffer + sizeof(header), &ex, sizeof(ex));
			total = sizeof(header) + sizeof(ex) +
				(header.in_words + ex.provider_in_words) * size_t{8};
		} else {
			if (c.out)
				memcpy(request, &response, sizeof(response));
			header.in_words = length((sizeof(header) + c.in + c.driver_in) / 4);
			header.out_words = length((c.out + c.driver_out) / 4);
			total = header.in_words * size_t{4};
		}
		memcpy(buffer, &header, sizeof(header));
		if (wrong())
			total = dice_.any({size_t{0}, size_t{1}, size_t{7}, total - 1, total + 1,
					   total + 4, total * 2, size_t{dice_.below(300)}});
		total = std::min(total, sizeof(buffer));
		totals_.calls++;
		const ssize_t n = stopwatch()(
			c.name, [&] { return write(fd_, buffer, total); },
			c.heavy ? heavy_bytes : 0);
		if (n < 0) {
			totals_.done.count(c.name, errno);
			return false;
		}
		totals_.good++;
		totals_.done.count(c.name);
		succeeded(c, request, answer);
		return true;
	}

	void succeeded(const Command &c, const uint8_t *request, const uint8_t *answer)
	{
		uint32_t handle;

		memcpy(&handle, answer, sizeof(handle));
		if (c.makes != Class::none)
			pool_.add(c.makes, handle);
		if (c.key_at >= 0)
			add_key(answer + c.key_at);
		if (c.ends != Class::none)
			for (const Field &f : c.fields)
				if (f.of == c.ends) {
					memcpy(&handle, request + f.offset, sizeof(handle));
					pool_.remove(c.ends, handle);
				}
	}

	void add_key(const uint8_t *at)
	{
		uint64_t key;
		memcpy(&key, at, sizeof(key));
		pool_.add(Class::key, key);
		if (pool_.size(Class::key) > 2 * most_objects)
			pool_.remove(Class::key, pool_.any(Class::key, dice_));
	}

	// ---- methods

	struct Call {
		alignas(8) uint8_t
			buffer[sizeof(ib_uverbs_ioctl_hdr) + 32 * sizeof(ib_uverbs_attr)] = {};
		ib_uverbs_ioctl_hdr &header()
		{
			return *reinterpret_cast<ib_uverbs_ioctl_hdr *>(buffer);
		}
		ib_uverbs_attr *attributes()
		{
			return reinterpret_cast<ib_uverbs_attr *>(buffer +
								  sizeof(ib_uverbs_ioctl_hdr));
		}
	};

	void set_input(ib_uverbs_attr &a, const Attribute &spec, uint8_t *&room)
	{
		const uint64_t value =
			wrong() ? limit_64(dice_) :
				  typical(spec.means, spec.argument, spec.of, pool_, arena_, dice_);
		if (spec.length <= 8) {
			a.data = value;
			return;
		}
		a.data = reinterpret_cast<uintptr_t>(room);
		for (unsigned at = 0; at < spec.length; at++)
			room[at] = spec.means == Means::small && dice_.chance(30) ?
					   static_cast<uint8_t>(dice_.below(spec.argument)) :
				   wrong() ? static_cast<uint8_t>(dice_.word()) :
					     0;
		if (spec.means == Means::sges)
			for (unsigned at = 0; at + 4 <= spec.length; at += 4)
				room[at] = static_cast<uint8_t>(1 + dice_.below(16));
		room += (spec.length + 7) / 8 * 8;
	}

	void set_attribute(ib_uverbs_attr &a, const Attribute &spec, uint8_t *&room)
	{
		a.attr_id = wrong() ? static_cast<uint16_t>(limit_32(dice_)) : spec.id;
		a.len = spec.kind == Attribute::in || spec.kind == Attribute::out ||
					spec.kind == Attribute::constant ?
				length(spec.length) :
				0;
		a.flags = static_cast<uint16_t>(wrong() ? dice_.word() :
							  uint32_t{UVERBS_ATTR_F_MANDATORY});
		a.attr_data.reserved = wrong() ? static_cast<uint16_t>(dice_.word()) : 0;
		switch (spec.kind) {
		case Attribute::in:
		case Attribute::constant:
			set_input(a, spec, room);
			break;
		case Attribute::out:
			a.data = reinterpret_cast<uintptr_t>(room);
			room += (spec.length + 7) / 8 * 8;
			break;
		case Attribute::make:
			break;
		default:
			a.data = typical(spec.means, spec.argument, spec.of, pool_, arena_, dice_);
		}
		if (wrong())
			a.data = dice_.chance(50) ? arena_.bad(dice_) : limit_64(dice_);
	}

	// invoke_write: the command that it wraps, with its lengths
	void set_write_command(Call &call, unsigned count)
	{
		const Command &c =
			commands()[dice_.below(static_cast<uint32_t>(commands().size()))];
		alignas(8) static thread_local uint8_t request[512];

		memset(request, 0, sizeof(request));
		fill(c, request);
		for (unsigned n = 0; n < count; n++) {
			ib_uverbs_attr &a = call.attributes()[n];
			switch (a.attr_id) {
			case UVERBS_ATTR_CORE_IN:
				a.len = length(c.in);
				if (a.len > 8)
					a.data = reinterpret_cast<uintptr_t>(request);
				else
					memcpy(&a.data, request, 8);
				break;
			case UVERBS_ATTR_CORE_OUT:
				a.len = length(c.out);
				break;
			case UVERBS_ATTR_WRITE_CMD:
				a.data = c.number;
				break;
			case UVERBS_ATTR_UHW_OUT:
				a.len = length(c.driver_out);
				break;
			}
		}
	}

	void call_method(const Method &m)
	{
		uint8_t *room = arena_.base() + Arena::size * 3 / 4 +
				dice_.below(Arena::size / 8) / 64 * 64;
		Call call;
		ib_uverbs_ioctl_hdr &header = call.header();
		unsigned count = 0;

		memset(room, 0, 4096);
		for (const Attribute &spec : m.attributes) {
			if ((spec.optional && dice_.chance(50)) || (!spec.optional && wrong()))
				continue;
			set_attribute(call.attributes()[count++], spec, room);
			if (wrong())
				set_attribute(call.attributes()[count++], spec, room);
		}
		if (m.number == UVERBS_METHOD_INVOKE_WRITE && m.object == UVERBS_OBJECT_DEVICE)
			set_write_command(call, count);
		if (count > 1 && wrong())
			std::swap(call.attributes()[0], call.attributes()[count - 1]);
		header.object_id = wrong() ? static_cast<uint16_t>(dice_.below(20)) : m.object;
		header.method_id =
			wrong() ? static_cast<uint16_t>(dice_.below(12) |
							(dice_.chance(30) ? UVERBS_ID_DRIVER_NS :
									    0)) :
				  m.number;
		header.driver_id = wrong() ? limit_32(dice_) : KWARP_DRIVER_ID;
		header.num_attrs = length(count);
		header.length = length(sizeof(header) + header.num_attrs * sizeof(ib_uverbs_attr));
		header.reserved1 = wrong() ? limit_64(dice_) : 0;
		header.reserved2 = wrong() ? limit_32(dice_) : 0;
		totals_.calls++;
		if (stopwatch()(
			    m.name, [&] { return ioctl(fd_, RDMA_VERBS_IOCTL, call.buffer); },
			    m.heavy ? heavy_bytes : 0)) {
			totals_.done.count(m.name, errno);
			return;
		}
		totals_.good++;
		totals_.done.count(m.name);
		note_objects(m, call, count);
	}

	void note_objects(const Method &m, Call &call, unsigned count)
	{
		for (unsigned n = 0; n < count; n++) {
			const ib_uverbs_attr &a = call.attributes()[n];
			for (const Attribute &spec : m.attributes) {
				if (spec.id != a.attr_id)
					continue;
				if (spec.kind == Attribute::make)
					pool_.add(spec.of, static_cast<uint32_t>(a.data));
				else if (spec.kind == Attribute::end)
					pool_.remove(spec.of, static_cast<uint32_t>(a.data));
			}
		}
	}

	// Random bytes.
	void garbage()
	{
		alignas(8) uint8_t buffer[512];
		for (uint8_t &byte : buffer)
			byte = static_cast<uint8_t>(dice_.word());
		totals_.calls++;
		if (dice_.chance(50)) {
			// with a header that gets it past the first checks
			const ib_uverbs_cmd_hdr header{dice_.below(64),
						       static_cast<uint16_t>(dice_.below(128)),
						       static_cast<uint16_t>(dice_.below(64))};
			memcpy(buffer, &header, sizeof(header));
			stopwatch()(
				"write",
				[&] { return write(fd_, buffer, header.in_words * size_t{4}); },
				heavy_bytes);
		} else {
			stopwatch()(
				"ioctl",
				[&] {
					return ioctl(fd_,
						     dice_.chance(80) ? RDMA_VERBS_IOCTL :
									dice_.word(),
						     buffer);
				},
				heavy_bytes);
		}
	}

	// ---- mmap()

	void touch(volatile uint8_t *at, size_t length, int protection)
	{
		for (size_t n = 0; n < length; n += page) {
			uint8_t byte = protection & PROT_READ ? at[n] : 0;
			if (protection & PROT_WRITE)
				at[n] = static_cast<uint8_t>(byte + dice_.below(2));
		}
	}

	void map()
	{
		const uint64_t key = pool_.any(Class::key, dice_);
		const uint64_t offset = wrong() ? limit_64(dice_) & ~(page - 1) :
					wrong() ? key + page * dice_.below(4) :
						  key;
		size_t length = wrong() ? limit_64(dice_) % (size_t{1} << 40) + 1 :
					  page * (1 + dice_.below(8));
		const int protection =
			dice_.any({PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ,
				   PROT_NONE, PROT_READ | PROT_WRITE | PROT_EXEC});
		const int flags = dice_.any({MAP_SHARED, MAP_SHARED, MAP_SHARED, MAP_PRIVATE,
					     MAP_SHARED | MAP_POPULATE});

		totals_.calls++;
		void *p = stopwatch()(
			"mmap",
			[&] {
				return mmap(nullptr, length, protection, flags, fd_,
					    static_cast<off_t>(offset));
			},
			heavy_bytes);
		if (p == MAP_FAILED)
			return;
		totals_.good++;
		totals_.maps++;
		touch(static_cast<uint8_t *>(p), std::min(length, 64 * page), protection);
		if (dice_.chance(20)) {
			const size_t other = page * (1 + dice_.below(10));
			void *q = mremap(p, length, other, MREMAP_MAYMOVE);
			if (q != MAP_FAILED) {
				p = q;
				length = other;
				touch(static_cast<uint8_t *>(p), length, protection);
			}
		}
		// Sometimes in pieces. No range may be unmapped twice, because another thread may
		// have reused the range.
		if (dice_.chance(20) && length > page) {
			munmap(static_cast<uint8_t *>(p) + page, page);
			if (length > 2 * page)
				munmap(static_cast<uint8_t *>(p) + 2 * page, length - 2 * page);
			length = page;
		}
		munmap(p, length);
	}

	// ---- connections without a form: two queue pairs on the two ends of a TCP connection

	static bool tcp_pair(int ends[2])
	{
		sockaddr_in address{};
		socklen_t size = sizeof(address);
		const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		address.sin_family = AF_INET;
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		bool fine = !bind(listener, reinterpret_cast<sockaddr *>(&address), size) &&
			    !listen(listener, 1) &&
			    !getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size) &&
			    !::connect(ends[0], reinterpret_cast<sockaddr *>(&address), size);
		ends[1] = fine ? accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1;
		close(listener);
		return ends[1] >= 0;
	}

	void attach(int socket, uint64_t qp, kwarp_attach_params &params)
	{
		Call call;
		ib_uverbs_attr *a = call.attributes();
		a[0] = {KWARP_ATTR_ATTACH_QP, 0, UVERBS_ATTR_F_MANDATORY, {}, {qp}};
		a[1] = {KWARP_ATTR_ATTACH_FD,
			0,
			UVERBS_ATTR_F_MANDATORY,
			{},
			{static_cast<uint64_t>(socket)}};
		a[2] = {KWARP_ATTR_ATTACH_PARAMS,
			sizeof(params),
			UVERBS_ATTR_F_MANDATORY,
			{},
			{reinterpret_cast<uintptr_t>(&params)}};
		call.header().object_id = UVERBS_OBJECT_QP;
		call.header().method_id = KWARP_METHOD_QP_ATTACH;
		call.header().driver_id = KWARP_DRIVER_ID;
		call.header().num_attrs = 3;
		call.header().length = sizeof(ib_uverbs_ioctl_hdr) + 3 * sizeof(*a);
		totals_.calls++;
		if (!stopwatch()("attach",
				 [&] { return ioctl(fd_, RDMA_VERBS_IOCTL, call.buffer); })) {
			totals_.done.count("attach", errno);
			return;
		}
		totals_.good++;
		totals_.done.count("attach");
	}

	void connect()
	{
		int ends[2] = {-1, -1};
		kwarp_attach_params params{};

		params.form = wrong() ? static_cast<uint8_t>(dice_.below(5)) :
					dice_.any<uint8_t>({KWARP_ATTACH_NONE, KWARP_ATTACH_NONE,
							    KWARP_ATTACH_REQ_REP,
							    KWARP_ATTACH_START_KEY});
		params.flags = static_cast<uint16_t>(dice_.below(2));
		params.ird = params.ord = static_cast<uint16_t>(dice_.below(8));
		params.timeout_ms = 1000;
		if (tcp_pair(ends))
			for (int end : ends) {
				params.role = end == ends[1];
				attach(end, pool_.any(Class::qp, dice_), params);
			}
		for (int end : ends)
			close(end);
	}

	// ---- objects

	// Destroys objects above the limit.
	void trim()
	{
		struct {
			Class of;
			const char *end;
		} const kinds[] = {{Class::qp, "destroy_qp"}, {Class::srq, "destroy_srq"},
				   {Class::cq, "destroy_cq"}, {Class::mr, "dereg_mr"},
				   {Class::mw, "dealloc_mw"}, {Class::ah, "destroy_ah"},
				   {Class::pd, "dealloc_pd"}};
		for (auto &k : kinds)
			if (pool_.size(k.of) > most_objects)
				for (unsigned n = 0; n < most_objects; n++)
					good(k.end);
		while (pool_.size(Class::channel) > most_objects)
			pool_.close_channel();
	}

	Dice dice_;
	const int fd_;
	Pool &pool_;
	const Arena &arena_;
	unsigned bad_;
	Totals &totals_;
};

// A dma-buf; there is none without udmabuf.
class DmaBuf {
public:
	DmaBuf() : memory_(memfd_create("local_fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING))
	{
		const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
		udmabuf_create request{};
		request.memfd = static_cast<uint32_t>(memory_);
		request.flags = UDMABUF_FLAGS_CLOEXEC;
		request.size = 16 * page;
		if (device >= 0 && !ftruncate(memory_, 16 * page) &&
		    !fcntl(memory_, F_ADD_SEALS, F_SEAL_SHRINK))
			fd_ = ioctl(device, UDMABUF_CREATE, &request);
		// udmabuf (Linux 7.2) makes a table at the first access; of two simultaneous first
		// accesses, one leaks its table. So make the table here.
		const uint64_t begin = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW,
			       end = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
		for (const uint64_t flags : {begin, end}) {
			dma_buf_sync sync{flags};
			if (fd_ >= 0)
				ioctl(fd_, DMA_BUF_IOCTL_SYNC, &sync);
		}
		if (device >= 0)
			close(device);
	}
	~DmaBuf()
	{
		if (fd_ >= 0)
			close(fd_);
		close(memory_);
	}
	DmaBuf(const DmaBuf &) = delete;
	DmaBuf &operator=(const DmaBuf &) = delete;

	int fd() const { return fd_; }

private:
	int memory_;
	int fd_ = -1;
};

void round(uint64_t seed, Totals &totals)
{
	Dice dice(seed);
	const std::string node = device_node(dice.chance(70) ? lab::a().device : lab::b().device);
	const unsigned bad = dice.any({0U, 10U, 50U, 200U});
	const unsigned steps = dice.any({100U, 300U, 1000U});
	const unsigned threads = dice.chance(30) ? 1 + dice.below(3) : 0;
	const int fd = open(node.c_str(), O_RDWR | O_CLOEXEC);
	if (fd < 0)
		throw rdma::Failure("open " + node, errno);
	{
		Pool pool;
		Arena arena;
		DmaBuf dma;
		if (dma.fd() >= 0)
			pool.add(Class::dmabuf, static_cast<uint64_t>(dma.fd()));
		Caller first(dice.two_words(), fd, pool, arena, bad, totals);
		if (dice.below(10)) {
			first.good("get_context");
			for (const char *name :
			     {"alloc_pd", "create_cq", "create_cq", "create_comp_channel", "reg_mr",
			      "create_srq", "create_qp", "create_qp", "alloc_mw"})
				first.good(name);
		}
		std::vector<std::thread> others;
		for (unsigned n = 0; n < threads; n++)
			others.emplace_back([&, seed = dice.two_words()] {
				Caller caller(seed, fd, pool, arena, bad, totals);
				for (unsigned step = 0; step < steps; step++)
					caller.step();
			});
		for (unsigned step = 0; step < steps; step++)
			first.step();
		for (std::thread &t : others)
			t.join();
	}
	stopwatch()("close", [&] { return close(fd); }, heavy_bytes);
}

// If the driver's part of the reply cannot be written, the creation of a queue pair fails, and
// uverbs frees its memory. An event of the queue pair would remain in a list of uverbs.
std::string event_of_a_qp_not_made()
{
	Host host(lab::a().device);
	Board board;
	Side side(host, board,
		  {.sq = 4,
		   .rq = 0,
		   .srq = 4,
		   .cq = 16,
		   .sge = 1,
		   .inline_data = 0,
		   .one_cq = true,
		   .sig_all = false});
	if (int error = side.create_qp_without_reply(); error != EFAULT)
		return "not EFAULT, but " + std::to_string(error);
	return host.verbs.drain_events() ? "an event was reported" : "";
}

void faulted(int)
{
	hangs("a page of a mapping is missing");
}

int fuzz(const Options &options)
{
	Bystander bystander;
	Campaign campaign(options, bystander);
	Totals totals;
	signal(SIGBUS, faulted);
	signal(SIGSEGV, faulted);
	campaign.check("a queue pair whose creation fails has no event", event_of_a_qp_not_made);
	const int status = campaign.run([&](uint64_t seed) {
		round(seed, totals);
		return std::string();
	});
	if (options.verbose)
		for (const auto &[name, times] : totals.done.all())
			std::cout << "# " << name << " " << times << "\n";
	std::cout << "# summary: seed " << options.seed << ": " << campaign.rounds() << " rounds, "
		  << totals.calls << " calls (" << totals.good << " done, " << totals.maps
		  << " mappings); " << campaign.summary() << "\n";
	return status;
}

} // namespace
} // namespace local_fuzz

int main(int argc, char **argv)
{
	return local_fuzz::run_main(argc, argv, local_fuzz::fuzz);
}
