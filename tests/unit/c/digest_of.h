/* SPDX-License-Identifier: GPL-2.0-only */
/* The digest of a text, as the programs make it. */
#pragma once
#include <string.h>
#include <linux/types.h>
#include "core/records.h"
#include "sql/digest_rules.h"

static struct digest digest;

/* As the programs do it; the text is `bytes` long. */
static const char *digest_bytes(enum sql_server server, const char *text, size_t bytes)
{
	static char result[DIGEST_BYTES + 1];
	size_t looked_at = bytes < STATEMENT_BYTES ? bytes : STATEMENT_BYTES;

	begin_digest(&digest, server, 1);
	for (size_t i = 0; i < looked_at; i++)
		if (digest_letter(&digest, text[i], i + 1 < looked_at ? text[i + 1] : 0))
			break;
	end_digest(&digest, bytes > STATEMENT_BYTES);
	memset(result, 0, sizeof(result));
	memcpy(result, digest.text, digest.length < DIGEST_BYTES ? digest.length : DIGEST_BYTES);
	return result;
}

static const char *digest_of(enum sql_server server, const char *text)
{
	return digest_bytes(server, text, strlen(text));
}

struct pair {
	const char *text, *digest;
};
