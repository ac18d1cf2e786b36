/* SPDX-License-Identifier: GPL-2.0-only */
/* The text of a statement in the target's memory, which is hostile, and its digest: no literal is ever stored. */
#pragma once
#include "core/maps.bpf.h"
#include "sql/digest_rules.h"

struct statement_text {
	__u64 hash; /* of the digest, never 0 */
	__u32 server;
	__u32 letters_count;
	__u32 cut; /* there is more of it than is looked at */
	struct digest digest;
	char letters[STATEMENT_BYTES];
};

static long read_letter(__u32 index, struct statement_text **context)
{
	struct statement_text *text = *context;
	char letter, next = 0;

	if (index >= STATEMENT_BYTES || index >= text->letters_count)
		return 1;
	letter = text->letters[index];
	if (index + 1 < STATEMENT_BYTES && index + 1 < text->letters_count)
		next = text->letters[index + 1];
	return digest_letter(&text->digest, letter, next);
}

/* Global, so that the verifier walks it once, for whatever text. */
__weak __noinline int make_digest(struct statement_text *text)
{
	if (!text)
		return 0;
	begin_digest(&text->digest, text->server, knobs.seed);
	bpf_loop(STATEMENT_BYTES, read_letter, &text, 0);
	end_digest(&text->digest, text->cut);
	text->hash = key_of_digest(&text->digest);
	return 0;
}

static __always_inline void keep_digest(struct kept_digest *kept, const struct statement_text *text)
{
	bpf_probe_read_kernel(kept->text, sizeof(kept->text), text->digest.text);
	kept->cut = text->cut || text->digest.state >= IN_HIDDEN_REST;
	kept->length = text->digest.length;
}

/* A string that ends with a zero, within `room` bytes. */
static __always_inline bool read_string_at(struct statement_text *text, __u64 address, __u64 room)
{
	__u32 looked_at = at_most(room, STATEMENT_BYTES);
	long bytes = bpf_probe_read_user_str(text->letters, looked_at, (void *)address);

	if (bytes <= 0)
		return false;
	text->letters_count = bytes - 1;
	text->cut = bytes == STATEMENT_BYTES;
	return true;
}

static __always_inline bool read_text_at(struct statement_text *text, __u64 address, __u64 length)
{
	__u32 bytes = at_most(length, STATEMENT_BYTES);

	if (!bytes || bpf_probe_read_user(text->letters, bytes, (void *)address))
		return false;
	text->letters_count = bytes;
	text->cut = length > STATEMENT_BYTES;
	return true;
}
