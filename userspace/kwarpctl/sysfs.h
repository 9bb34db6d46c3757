/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// Paths of kwarp devices in /sys; reading and writing of their attributes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kwarpctl {

class Sysfs {
public:
	explicit Sysfs(const std::filesystem::path &root)
		: root_(root), class_dir_(root / "class/infiniband")
	{
	}

	bool module_is_loaded() const { return exists(root_ / "module/kwarp"); }
	// The value of a parameter of the module, if it is loaded and has that parameter.
	std::optional<std::string> module_parameter(const std::string &name) const;
	// Whether a device class exists, or a device of a class, e.g. "misc/rdma_cm".
	bool has_class(const std::string &path) const { return exists(root_ / "class" / path); }

	// Names of all kwarp devices, sorted; empty on a machine without RDMA.
	std::vector<std::string> devices() const;

	bool has_device(const std::string &device) const;

	// Whether there is an RDMA device of that name, of any driver.
	bool shows(const std::string &device) const;

	// Mounts /sys again, for this process only. A mount shows the devices of the network
	// namespace of the process that made it, which nsenter(1) does not change. Without the
	// permission to mount, nothing happens.
	void mount() const;

	// Throws an Error with the reason if there is no kwarp device of that
	// name.
	void require_device(const std::string &device) const;

	std::filesystem::path policy_dir(const std::string &device) const
	{
		return class_dir_ / device / "kwarp";
	}

private:
	std::filesystem::path root_, class_dir_;
};

// Whether the name is a single path component. Names of devices and keys come from the user.
bool is_plain_name(const std::string &name);

// Names of the regular files in a folder, sorted. Throws std::system_error.
std::vector<std::string> attribute_names(const std::filesystem::path &dir);

// One attribute without its newline. Throws std::system_error.
std::string read_attribute(const std::filesystem::path &file);

// Writes an attribute by a single write(2), as sysfs requires. Throws
// std::system_error.
void write_attribute(const std::filesystem::path &file, const std::string &value);

} // namespace kwarpctl
