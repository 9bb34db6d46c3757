// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Network namespaces: a socket lives in the one its thread is in when it is made.
#pragma once

#include <string>

namespace iwarp {

// Puts the calling thread into a namespace (a file under /run/netns) until the end of
// the scope. An empty path changes nothing.
class NetnsScope {
public:
	explicit NetnsScope(const std::string &path);
	~NetnsScope();
	NetnsScope(const NetnsScope &) = delete;
	NetnsScope &operator=(const NetnsScope &) = delete;

private:
	int home_ = -1;
};

} // namespace iwarp
