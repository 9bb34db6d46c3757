// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Network namespaces. A socket belongs to the namespace of the thread that creates it.
#pragma once

#include <string>

namespace iwarp {

// Moves the calling thread into a network namespace (path: a file under /run/netns) until the end
// of the scope. An empty path changes nothing. Throws std::system_error.
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
