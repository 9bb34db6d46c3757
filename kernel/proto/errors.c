// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The table of errors: Terminate codes and their meaning; see errors.h. */
#include "proto/errors.h"

#define MPA(c)	{ KWARP_LAYER_LLP, KWARP_LLP_MPA, KWARP_MPA_##c }
#define DDP_T(c)	{ KWARP_LAYER_DDP, KWARP_DDP_TAGGED, KWARP_DDP_T_##c }
#define DDP_U(c)	{ KWARP_LAYER_DDP, KWARP_DDP_UNTAGGED, KWARP_DDP_U_##c }
#define PROT(c)	{ KWARP_LAYER_RDMAP, KWARP_RDMAP_PROTECTION, KWARP_RDMAP_##c }
#define OPER(c)	{ KWARP_LAYER_RDMAP, KWARP_RDMAP_OPERATION, KWARP_RDMAP_##c }

/* Codes of each error, and the codes in words: the first error with equal codes has the text. */
static const struct {
	struct kwarp_term_err term;
	const char *text;
} table[KWARP_ERR_MAX] = {
	[KWARP_ERR_NONE] = { OPER(UNSPECIFIED), "RDMAP: other operation error" },
	[KWARP_ERR_MPA_CLOSED] = { MPA(CLOSED), "MPA: stream closed or lost" },
	[KWARP_ERR_MPA_CRC] = { MPA(CRC), "MPA: wrong CRC" },
	[KWARP_ERR_MPA_MARKER] = { MPA(MARKER), "MPA: marker and ULPDU Length disagree" },
	[KWARP_ERR_MPA_STARTUP] = { MPA(STARTUP), "MPA: invalid startup frame" },
	[KWARP_ERR_MPA_LOCAL] = { MPA(LOCAL), "MPA: local error in startup" },
	[KWARP_ERR_MPA_IRD] = { MPA(IRD), "MPA: insufficient IRD" },
	[KWARP_ERR_MPA_RTR] = { MPA(RTR), "MPA: no common RTR indication" },
	[KWARP_ERR_MPA_LENGTH] = { .term = MPA(MARKER) },
	[KWARP_ERR_DDP_LOCAL] = { { KWARP_LAYER_DDP, KWARP_DDP_LOCAL, 0 },
		"DDP: local catastrophic error" },
	[KWARP_ERR_TAGGED_STAG] = { DDP_T(STAG),
		"DDP: invalid STag, or no permission to write" },
	[KWARP_ERR_TAGGED_ACCESS] = { .term = DDP_T(STAG) },
	[KWARP_ERR_TAGGED_BOUNDS] = { DDP_T(BOUNDS), "DDP: base or bounds violation" },
	[KWARP_ERR_TAGGED_STREAM] = { DDP_T(STREAM),
		"DDP: STag not associated with the stream" },
	[KWARP_ERR_TAGGED_WRAP] = { DDP_T(WRAP), "DDP: TO wrap" },
	[KWARP_ERR_TAGGED_VERSION] = { DDP_T(VERSION),
		"DDP: wrong version in a tagged segment" },
	[KWARP_ERR_UNTAGGED_QN] = { DDP_U(QN), "DDP: invalid queue number" },
	[KWARP_ERR_UNTAGGED_NO_BUFFER] = { DDP_U(NO_BUFFER), "DDP: no receive buffer" },
	[KWARP_ERR_UNTAGGED_MSN] = { DDP_U(MSN), "DDP: MSN out of range" },
	[KWARP_ERR_UNTAGGED_MO] = { DDP_U(MO), "DDP: invalid MO" },
	[KWARP_ERR_UNTAGGED_TOO_LONG] = { DDP_U(TOO_LONG),
		"DDP: message longer than the receive buffer" },
	[KWARP_ERR_UNTAGGED_VERSION] = { DDP_U(VERSION),
		"DDP: wrong version in an untagged segment" },
	[KWARP_ERR_RDMAP_LOCAL] = { { KWARP_LAYER_RDMAP, KWARP_RDMAP_LOCAL, 0 },
		"RDMAP: local catastrophic error" },
	[KWARP_ERR_RDMAP_STAG] = { PROT(STAG), "RDMAP: invalid STag" },
	[KWARP_ERR_RDMAP_BOUNDS] = { PROT(BOUNDS), "RDMAP: base or bounds violation" },
	[KWARP_ERR_RDMAP_ACCESS] = { PROT(ACCESS), "RDMAP: access rights violation" },
	[KWARP_ERR_RDMAP_ASSOC] = { PROT(ASSOC),
		"RDMAP: STag not associated with the stream" },
	[KWARP_ERR_RDMAP_WRAP] = { PROT(WRAP), "RDMAP: TO wrap" },
	[KWARP_ERR_RDMAP_INVALIDATE] = { PROT(INVALIDATE),
		"RDMAP: STag cannot be invalidated" },
	[KWARP_ERR_RDMAP_PROT] = { PROT(UNSPECIFIED), "RDMAP: other protection error" },
	[KWARP_ERR_RDMAP_VERSION] = { OPER(VERSION), "RDMAP: wrong version" },
	[KWARP_ERR_RDMAP_OPCODE] = { OPER(OPCODE), "RDMAP: unexpected opcode" },
	[KWARP_ERR_RDMAP_STREAM] = { OPER(STREAM),
		"RDMAP: catastrophic error of the stream" },
	[KWARP_ERR_RDMAP_GLOBAL] = { OPER(GLOBAL),
		"RDMAP: catastrophic error of the adapter" },
	[KWARP_ERR_RDMAP_OP] = { .term = OPER(UNSPECIFIED) },
	[KWARP_ERR_SEGMENT] = { .term = OPER(STREAM) },
	[KWARP_ERR_CHUNK] = { .term = OPER(STREAM) },
	[KWARP_ERR_SSN] = { .term = OPER(STREAM) },
	[KWARP_ERR_SESSION] = { .term = OPER(STREAM) },
};

/**
 * kwarp_err_term() - Terminate codes of an error
 * @err:	error
 *
 * Return: the triple, in constant memory. For KWARP_ERR_NONE and undefined values: RDMAP,
 * operation error, unspecified.
 */
const struct kwarp_term_err *kwarp_err_term(enum kwarp_err err)
{
	if ((unsigned int)err >= KWARP_ERR_MAX)
		err = KWARP_ERR_NONE;
	return &table[err].term;
}

/**
 * kwarp_term_text() - Terminate codes in words
 * @term:	the triple, from any peer
 *
 * Return: layer and meaning; for codes that no RFC defines, "unknown codes".
 */
const char *kwarp_term_text(const struct kwarp_term_err *term)
{
	int i;

	for (i = 0; i < KWARP_ERR_MAX; i++) {
		const struct kwarp_term_err *t = &table[i].term;

		if (table[i].text && t->layer == term->layer &&
		    t->etype == term->etype && t->code == term->code)
			return table[i].text;
	}
	return "unknown codes";
}
