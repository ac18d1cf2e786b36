// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "program/statement_limits.h"
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include "sql/digest_rules.h"
#include "sql/sql_message.h"
#include "perfdiag.skel.h"

static void make_digest(struct digest *digest, enum sql_server server, uint64_t seed, const char *text)
{
	begin_digest(digest, server, seed);
	for (size_t i = 0; text[i]; i++)
		if (digest_letter(digest, text[i], text[i + 1]))
			break;
	end_digest(digest, false);
}

/* Methods of HTTP and commands of Redis have such names, too: a path follows the former, nothing the latter. */
bool statement_limit_name(const char *typed, struct limit *limit)
{
	static const char *const alone[] = { "begin", "commit", "end", "rollback" };
	const char *rest = strpbrk(typed, " \t");
	size_t length = strlen(typed);
	struct digest digest;
	bool found = rest && length >= 4 && is_verb(typed) && rest[1] && !strchr("/#*", rest[1]);

	while (length && strchr("; \t", typed[length - 1]))
		length--;
	for (size_t i = 0; !found && i < sizeof(alone) / sizeof(*alone); i++)
		found = length == strlen(alone[i]) && !strncasecmp(typed, alone[i], length);
	if (!found || length > STATEMENT_BYTES - 2) /* ";" is added */
		return false;
	snprintf(limit->statement, sizeof(limit->statement), "%.*s", (int)length, typed);
	make_digest(&digest, SQL_POSTGRESQL, 0, limit->statement);
	snprintf(limit->name, sizeof(limit->name), "%.*s",
		 (int)(digest.length < DIGEST_BYTES ? digest.length : DIGEST_BYTES), digest.text);
	return true;
}

/* Clients send statements with an end and without. */
int statement_limit_set(struct recorder *recorder, const struct limit *limit)
{
	static const enum sql_server servers[] = { SQL_POSTGRESQL, SQL_MARIADB };
	char with_end[STATEMENT_BYTES + 1];
	const char *const texts[] = { limit->statement, with_end };
	struct bpf_map *map = recorder->skeleton->maps.limits_of_statements;
	int err = 0;

	snprintf(with_end, sizeof(with_end), "%s;", limit->statement);
	for (int i = 0; !err && i < 4; i++) {
		struct digest digest;
		__u64 hash;

		make_digest(&digest, servers[i / 2], recorder->skeleton->bss->knobs.seed, texts[i % 2]);
		hash = key_of_digest(&digest);
		err = bpf_map__update_elem(map, &hash, sizeof(hash), &limit->ns, sizeof(limit->ns), BPF_ANY);
	}
	return err;
}
