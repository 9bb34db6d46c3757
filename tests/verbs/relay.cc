// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A wire between two tun devices in two network namespaces, like the daemon of a VPN:
//
//	relay NETNS NETDEV NETNS NETDEV
//
// Makes both devices, prints "ready", and carries packets in both directions until a signal ends
// the program and thereby removes the devices.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace {

[[noreturn]] void fail(const std::string &what)
{
	fprintf(stderr, "relay: %s: %s\n", what.c_str(), strerror(errno));
	exit(1);
}

// The device belongs to the namespace in which its file is opened.
int make_tun(const char *netns, const char *name)
{
	std::string path = std::string("/run/netns/") + netns;
	int ns = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		fail(path);
	close(ns);

	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fail("/dev/net/tun");
	ifreq request{};
	strncpy(request.ifr_name, name, IFNAMSIZ - 1);
	request.ifr_flags = IFF_TUN | IFF_NO_PI;
	if (ioctl(fd, TUNSETIFF, &request))
		fail(name);
	return fd;
}

// Forwards all waiting packets. As on a wire, packets to a device that is down or full are lost.
void carry(int from, int to)
{
	char packet[65536];
	for (ssize_t n; (n = read(from, packet, sizeof(packet))) > 0;)
		if (write(to, packet, n) < 0 && errno != EIO && errno != EAGAIN && errno != ENOBUFS)
			fail("write");
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: relay NETNS NETDEV NETNS NETDEV\n");
		return 2;
	}
	pollfd ends[] = {{make_tun(argv[1], argv[2]), POLLIN, 0},
			 {make_tun(argv[3], argv[4]), POLLIN, 0}};
	printf("ready\n");
	fflush(stdout);
	while (poll(ends, 2, -1) > 0) {
		carry(ends[0].fd, ends[1].fd);
		carry(ends[1].fd, ends[0].fd);
	}
	return 0;
}
