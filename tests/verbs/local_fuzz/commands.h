// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The commands and methods of uverbs that a kwarp device supports, and their fields.
#pragma once

#include <span>

#include "pool.h"

namespace local_fuzz {

// The valid contents of a field.
enum class Means {
	nothing,
	handle,	 // of a class
	channel, // descriptor of a completion channel, or -1
	count,	 // of elements
	sges,
	inline_length,
	access,
	address,
	page, // a page-aligned address
	gid,  // of the other device
	length,
	state,
	attributes, // mask of modify_qp and query_qp
	small,	    // below the field's argument
	constant,   // the field's argument
};

struct Field {
	uint16_t offset;
	uint8_t width; // bytes
	Means means;
	uint32_t argument = 0;
	Class of = Class::none;
};

// A command of the write() ABI; extended commands have the address of the response in their header.
struct Command {
	const char *name;
	uint32_t number;
	bool extended;
	size_t in, out;
	size_t driver_in, driver_out;
	Class makes, ends;
	int key_at; // offset of a mapping's key in the response, or -1
	bool heavy; // it may allocate megabytes
	std::vector<Field> fields;
};

std::span<const Command> commands();

// An attribute of a method of the ioctl() ABI.
struct Attribute {
	enum Kind { handle, make, end, in, out, descriptor, constant } kind;
	uint16_t id;
	uint16_t length = 0;
	Means means = Means::nothing;
	uint32_t argument = 0;
	Class of = Class::none;
	bool optional = false;
};

struct Method {
	const char *name;
	uint16_t object, number;
	bool heavy;
	std::vector<Attribute> attributes;
};

std::span<const Method> methods();

// A valid value for a field.
uint64_t typical(Means means, uint32_t argument, Class of, const Pool &pool, const Arena &arena,
		 Dice &dice);

} // namespace local_fuzz
