-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
-- Dissectors for Wireshark and tshark: protocols of kwarp that Wireshark itself does not decode.
--
--   iwarp_sctp   DDP over SCTP (RFC 5043): DDP-SSN and session control. The segment after the
--                DDP-SSN is passed to Wireshark's dissector of DDP and RDMAP.
--   iwarp_enh    enhanced data (RFC 6581 9): IRD, ORD and control flags, in session control and in
--                MPA startup frames of revision 2
--
-- Documentation/admin.rst describes the use. Wireshark runs no Lua scripts as root. Versions before
-- 4.4 have Lua 5.2, which has no bitwise operators.

local sctp = Proto("iwarp_sctp", "iWARP DDP over SCTP (RFC 5043)")
local enh = Proto("iwarp_enh", "iWARP Enhanced Connection Establishment (RFC 6581)")

-- payload protocol identifiers
local SEGMENT, CONTROL = 16, 17
local SSN_LEN, CODE_LEN, ENH_LEN, PRIVATE_MAX = 2, 2, 4, 512
-- MPA's flag S, in the bits that Wireshark shows as reserved
local MPA_S = 0x10

local TERMINATE = 4
local codes = {
	"Initiate", "Accept", "Reject", "Terminate",
	"Enhanced Initiate", "Enhanced Accept", "Enhanced Reject",
}
-- RFC 6581 7 does not name the Enhanced Reject where it requires IRD and ORD. kwarp puts both at
-- the same place as in the other enhanced messages, and takes shorter private data for the ULP's.
local ENHANCED_REJECT = 7
local has_enhanced = { [5] = true, [6] = true, [7] = true }

local s = {
	ssn = ProtoField.uint16("iwarp_sctp.ssn", "DDP-SSN"),
	code = ProtoField.uint16("iwarp_sctp.code", "Session control", base.DEC, codes),
	pd_len = ProtoField.uint16("iwarp_sctp.pdlength", "Private data length"),
	pd = ProtoField.bytes("iwarp_sctp.privatedata", "Private data"),
}
sctp.fields = s

local e = {
	p2p = ProtoField.bool("iwarp_enh.p2p", "A: peer-to-peer model", 16, nil, 0x8000),
	send = ProtoField.bool("iwarp_enh.rtr_send", "B: RTR by Send", 16, nil, 0x4000),
	ird = ProtoField.uint16("iwarp_enh.ird", "IRD", base.DEC, nil, 0x3fff),
	write = ProtoField.bool("iwarp_enh.rtr_write", "C: RTR by RDMA Write", 16, nil, 0x8000),
	read = ProtoField.bool("iwarp_enh.rtr_read", "D: RTR by RDMA Read", 16, nil, 0x4000),
	ord = ProtoField.uint16("iwarp_enh.ord", "ORD", base.DEC, nil, 0x3fff),
	pd_len = ProtoField.uint16("iwarp_enh.pdlength", "Private data length"),
	pd = ProtoField.bytes("iwarp_enh.privatedata", "Private data"),
}
enh.fields = e

local function expert_info(name, text, group, severity)
	return ProtoExpert.new(name, text, expert.group[group], expert.severity[severity])
end

local SHORT = "Shorter than its header"
local x = {
	short = expert_info("iwarp_sctp.short", SHORT, "MALFORMED", "ERROR"),
	cut = expert_info("iwarp_sctp.cut", "Truncated in the capture", "UNDECODED", "NOTE"),
	repeated = expert_info("iwarp_sctp.ssn.repeated", "DDP-SSN used before", "SEQUENCE",
		"ERROR"),
	-- Unordered chunks may be reordered, so this is not an error.
	turn = expert_info("iwarp_sctp.ssn.turn", "DDP-SSN is not the next in turn", "SEQUENCE",
		"NOTE"),
	code = expert_info("iwarp_sctp.code.unknown", "Unknown session control code", "PROTOCOL",
		"ERROR"),
	pd = expert_info("iwarp_sctp.pdlength.long", "Too much private data for this message",
		"PROTOCOL", "ERROR"),
}
sctp.experts = x
local enh_short = expert_info("iwarp_enh.short", SHORT, "MALFORMED", "ERROR")
enh.experts = { enh_short }

-- have(tvb, len, item): returns whether tvb has len bytes; otherwise adds the reason to item.
local function have(tvb, len, item)
	if tvb:len() >= len then
		return true
	end
	item:add_proto_expert_info(tvb:reported_len() < len and x.short or x.cut)
	return false
end

-- ---- DDP-SSNs ----

local SSNS = 0x10000 -- number of DDP-SSNs

-- State of each direction: next is the DDP-SSN after the highest one, seen has the DDP-SSNs of the
-- latest half of the number space. Directions are identified by addresses and ports only, without
-- the stream: when Wireshark dissects a packet for the first time, it gives Lua scripts no fields,
-- and packets come in order only then. kwarp uses one stream.
local directions = {}
-- verdicts[frame][ssn]: the result of that first dissection
local verdicts = {}

function sctp.init()
	directions, verdicts = {}, {}
end

-- judge(pinfo, ssn, opening): returns expert info about a DDP-SSN and its text; nil if the DDP-SSN
-- is right. A capture may begin anywhere, so its first DDP-SSN is accepted. opening: the message
-- begins a session; then a second DDP-SSN of 0 belongs to another session between the same ports.
local function judge(pinfo, ssn, opening)
	local key = ("%s %d %s %d"):format(pinfo.src, pinfo.src_port, pinfo.dst, pinfo.dst_port)
	local dir = directions[key]
	if not dir or (opening and ssn == 0 and dir.seen[0]) then
		dir = { next = ssn, seen = {} }
		directions[key] = dir
	end
	if dir.seen[ssn] then
		return { x.repeated }
	end
	dir.seen[ssn] = true
	local due = dir.next
	local ahead = (ssn - due) % SSNS
	if ahead < SSNS / 2 then
		for n = due, due + ahead do
			dir.seen[(n + SSNS / 2) % SSNS] = nil
		end
		dir.next = (ssn + 1) % SSNS
	end
	return ahead ~= 0 and { x.turn, ("DDP-SSN %d is the next in turn"):format(due) } or nil
end

local function check_ssn(pinfo, ssn, opening, item)
	local frame = pinfo.number
	local verdict
	if pinfo.visited then
		verdict = verdicts[frame] and verdicts[frame][ssn]
	else
		verdict = judge(pinfo, ssn, opening)
		if verdict then
			verdicts[frame] = verdicts[frame] or {}
			verdicts[frame][ssn] = verdict
		end
	end
	if verdict then
		item:add_proto_expert_info(table.unpack(verdict))
	end
end

-- ---- chunks ----

local function enhanced(range, tree)
	local item = tree:add(enh, range)
	for _, field in ipairs({ e.p2p, e.send, e.ird }) do
		item:add(field, range(0, 2))
	end
	for _, field in ipairs({ e.write, e.read, e.ord }) do
		item:add(field, range(2, 2))
	end
	return item
end

local function control(tvb, pinfo, item)
	local at = SSN_LEN + CODE_LEN
	if not have(tvb, at, item) then
		return
	end
	local code = tvb(SSN_LEN, CODE_LEN):uint()
	local code_item = item:add(s.code, tvb(SSN_LEN, CODE_LEN))
	local name = "Session " .. (codes[code] or "control " .. code)
	pinfo.cols.protocol = "DDP/SCTP"
	pinfo.cols.info = ("%d > %d %s"):format(pinfo.src_port, pinfo.dst_port, name)
	item:append_text(", " .. name)
	if not codes[code] then
		code_item:add_proto_expert_info(x.code)
		return
	end
	if tvb:reported_len() - at > (code == TERMINATE and 0 or PRIVATE_MAX) then
		item:add_proto_expert_info(x.pd)
	end
	local short = code == ENHANCED_REJECT and tvb:reported_len() - at < ENH_LEN
	if has_enhanced[code] and not short then
		if not have(tvb, at + ENH_LEN, item) then
			return
		end
		enhanced(tvb(at, ENH_LEN), item)
		at = at + ENH_LEN
	end
	local len = tvb:reported_len() - at
	if code ~= TERMINATE then
		item:add(s.pd_len, len):set_generated()
	end
	if len > 0 and have(tvb, at + len, item) then
		item:add(s.pd, tvb(at, len))
	end
end

-- captured(tvb): returns whether the capture has as much of a segment as Wireshark's dissector
-- needs. Otherwise this dissector would report the segment as malformed.
local function captured(tvb)
	local len = tvb:len() - SSN_LEN
	if tvb:len() == tvb:reported_len() then
		return true
	elseif len < 2 then
		return false
	elseif tvb(SSN_LEN, 1):bitfield(0) == 1 then
		return len >= 14 -- tagged
	end
	local opcode = tvb(SSN_LEN + 1, 1):bitfield(4, 4)
	return opcode >= 3 and opcode <= 6 and len >= 18 -- Sends; the others are headers
end

-- Wireshark's dissector of DDP and RDMAP, which gets each ULPDU from the dissector of MPA. The
-- dissector is registered by name and needs no data of MPA.
local ddp = Dissector.get("iwarp_ddp_rdmap")

local function segment(tvb, pinfo, tree, item)
	if not captured(tvb) then
		item:add_proto_expert_info(x.cut)
		return
	elseif not have(tvb, SSN_LEN + 1, item) then
		return
	end
	-- If a segment is malformed, the call marks it in the tree and then raises an error. Catch
	-- the error, because other chunks of the packet may follow.
	local ok, err = pcall(ddp.call, ddp, tvb(SSN_LEN):tvb(), pinfo, tree)
	if not ok and not tostring(err):find("Malformed") then
		error(err, 0)
	end
end

function sctp.dissector(tvb, pinfo, tree)
	local is_control = pinfo.match_uint == CONTROL
	local shown = is_control and tvb:len() or math.min(tvb:len(), SSN_LEN)
	local item = tree:add(sctp, tvb(0, shown))
	if not have(tvb, SSN_LEN, item) then
		return tvb:len()
	end
	local ssn = tvb(0, SSN_LEN):uint()
	local ssn_item = item:add(s.ssn, tvb(0, SSN_LEN))
	item:append_text(", DDP-SSN " .. ssn)
	if is_control then
		local code = tvb:len() >= SSN_LEN + CODE_LEN and tvb(SSN_LEN, CODE_LEN):uint()
		check_ssn(pinfo, ssn, code ~= TERMINATE, ssn_item)
		control(tvb, pinfo, item)
	else
		check_ssn(pinfo, ssn, false, ssn_item)
		segment(tvb, pinfo, tree, item)
	end
	return tvb:len()
end

local ppids = DissectorTable.get("sctp.ppi")
ppids:add(SEGMENT, sctp)
ppids:add(CONTROL, sctp)

-- ---- MPA ----

local mpa = {
	rev = Field.new("iwarp_mpa.rev"),
	reserved = Field.new("iwarp_mpa.res"),
	pd_len = Field.new("iwarp_mpa.pdlength"),
	pd = Field.new("iwarp_mpa.privatedata"),
}

-- Runs after all other dissectors. Wireshark's dissector of MPA shows enhanced data as private
-- data; its fields give their place. It also has two warnings about revision 2. A script can
-- neither call this dissector, which is a heuristic that needs TCP's state, nor change the severity
-- of its warnings; the user can, see Documentation/admin.rst.
function enh.dissector(_, _, tree)
	local rev, reserved, pd_len, pd = mpa.rev(), mpa.reserved(), mpa.pd_len(), mpa.pd()
	if not (pd_len and rev.value == 2 and bit.band(reserved.value, MPA_S) ~= 0) then
		return
	elseif pd_len.value < ENH_LEN then
		tree:add(enh):add_proto_expert_info(enh_short)
	elseif pd then -- otherwise Wireshark has reported truncated private data
		local item = enhanced(pd.range, tree)
		item:add(e.pd_len, pd.len - ENH_LEN):set_generated()
		if pd.len > ENH_LEN then
			item:add(e.pd, pd.range(ENH_LEN))
		end
	end
end

register_postdissector(enh)
