// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "fault.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fuse.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdma/failure.h"
#include "rdma/work.h"

namespace attach {

using rdma::check;

namespace {

constexpr size_t page_size = 4096;

// A descriptor or process.
int valid(int n, const char *what)
{
	if (n < 0)
		throw rdma::Failure(what, errno);
	return n;
}

void reply(int fuse, const fuse_in_header &to, int error, const void *bytes = nullptr,
	   size_t length = 0)
{
	fuse_out_header head{};
	head.len = static_cast<uint32_t>(sizeof(head) + length);
	head.error = -error;
	head.unique = to.unique;
	iovec parts[] = {{&head, sizeof(head)}, {const_cast<void *>(bytes), length}};
	if (writev(fuse, parts, 2) < 0 && errno != ENOENT)
		_exit(1);
}

void answer(int fuse, const fuse_in_header &in, const void *page, int asked, int go)
{
	char c = 0;
	switch (in.opcode) {
	case FUSE_INIT: {
		fuse_init_out out{};
		out.major = FUSE_KERNEL_VERSION;
		out.minor = 31;
		out.max_write = page_size;
		reply(fuse, in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_GETATTR: {
		fuse_attr_out out{};
		out.attr_valid = 3600;
		out.attr.ino = 1;
		out.attr.size = page_size;
		out.attr.mode = S_IFREG | 0600;
		out.attr.nlink = 1;
		out.attr.blksize = page_size;
		reply(fuse, in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_OPEN: {
		fuse_open_out out{};
		reply(fuse, in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_READ:
		if (write(asked, &c, 1) == 1 && read(go, &c, 1) == 1)
			reply(fuse, in, 0, page, page_size);
		else
			_exit(1);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(fuse, in, 0);
		break;
	case FUSE_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(fuse, in, ENOSYS);
	}
}

[[noreturn]] void server(int fuse, const void *page, int asked, int go)
{
	alignas(fuse_in_header) static char request[64 * 1024];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		ssize_t n = read(fuse, request, sizeof(request));
		if (n < 0 && errno != EINTR && errno != ENOENT)
			_exit(0);
		if (n > 0)
			answer(fuse, *reinterpret_cast<fuse_in_header *>(request), page, asked, go);
	}
}

} // namespace

bool have_fuse()
{
	if (!access("/dev/fuse", R_OK | W_OK))
		return true;
	return !system("modprobe -q fuse") && !access("/dev/fuse", R_OK | W_OK);
}

Fault::Fault()
{
	int asked[2], go[2];
	char path[] = "/tmp/kwarp-fault-XXXXXX";
	close(valid(mkstemp(path), "mkstemp"));
	path_ = path;
	int fuse = valid(open("/dev/fuse", O_RDWR | O_CLOEXEC), "/dev/fuse");
	check(pipe2(asked, O_CLOEXEC), "pipe2");
	check(pipe2(go, O_CLOEXEC), "pipe2");
	page_ = mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	std::string options = "fd=" + std::to_string(fuse) +
			      ",rootmode=100000,user_id=0,group_id=0";
	check(::mount("kwarp-fault", path, "fuse", MS_NOSUID | MS_NODEV, options.c_str()), "mount");
	server_ = valid(fork(), "fork");
	if (!server_) {
		// Close inherited sockets: only the only process that has a socket may attach it.
		std::array keep{2, fuse, asked[1], go[0]};
		std::ranges::sort(keep);
		for (size_t i = 0; i < keep.size(); i++)
			close_range(static_cast<unsigned int>(keep[i]) + 1,
				    i + 1 < keep.size() ?
					    static_cast<unsigned int>(keep[i + 1]) - 1 :
					    ~0u,
				    0);
		server(fuse, page_, asked[1], go[0]);
	}
	close(fuse);
	close(asked[1]);
	close(go[0]);
	asked_ = asked[0];
	go_ = go[1];
	int file = valid(open(path, O_RDONLY | O_CLOEXEC), "open of the file");
	// without this request for the size, the kernel treats the file as empty
	struct stat st;
	check(fstat(file, &st), "fstat");
	memory_ = mmap(nullptr, page_size, PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	if (page_ == MAP_FAILED || memory_ == MAP_FAILED)
		throw rdma::Failure("mmap", errno);
}

Fault::~Fault()
{
	serve();
	munmap(memory_, page_size);
	umount2(path_.c_str(), MNT_DETACH);
	unlink(path_.c_str());
	kill(server_, SIGKILL);
	waitpid(server_, nullptr, 0);
	munmap(page_, page_size);
	close(asked_);
}

void Fault::wait()
{
	char c;
	if (!rdma::readable(asked_, rdma::patience) || read(asked_, &c, 1) != 1)
		throw rdma::Failure("no reader sleeps in the memory");
}

void Fault::serve(const void *bytes, size_t length)
{
	if (go_ < 0)
		return;
	if (length)
		memcpy(page_, bytes, length);
	// one byte for the sleeping reader, end of file for later ones
	if (write(go_, "", 1) != 1)
		throw rdma::Failure("the process that serves the memory has ended", errno);
	close(std::exchange(go_, -1));
}

Stuck::Stuck(int fd)
{
	thread_ = std::thread([this, fd] {
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, option_.memory(), sizeof(sock_fprog));
	});
	option_.wait();
}

void Stuck::take_lock()
{
	sock_fprog option{1, static_cast<sock_filter *>(const_cast<void *>(program_.memory()))};
	option_.serve(&option, sizeof(option));
	program_.wait();
}

void Stuck::release()
{
	sock_filter accept_all = BPF_STMT(BPF_RET | BPF_K, 0xffffffff);
	option_.serve();
	program_.serve(&accept_all, sizeof(accept_all));
	if (thread_.joinable())
		thread_.join();
}

} // namespace attach
