// SPDX-License-Identifier: GPL-2.0-only
/* Statements that the target asked SQL servers for (bpf/sql/sql_call.bpf.h). */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include "apps/statements.h"
#include "program/map_walk.h"
#include "recorder.h"
#include "perfdiag.skel.h"

static void write_digest(struct recorder *recorder, __u64 hash)
{
	struct bpf_map *map = recorder->skeleton->maps.sql_digests;
	struct kept_digest digest;

	if (bpf_map__lookup_elem(map, &hash, sizeof(hash), &digest, sizeof(digest), 0))
		memset(&digest, 0, sizeof(digest));
	digest_write(&recorder->json, &digest);
}

void sql_calls_write(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.sql_calls) };
	struct json *json = &recorder->json;
	struct sql_call_key key;
	struct sql_call_sum sum;

	while (map_next(&walk, &key, &sum)) {
		if (!sum.count)
			continue;
		json_open(json, "sql_call");
		json_text(json, "server", sql_server_name(key.server));
		json_text(json, "kind", statement_kind_name(key.kind));
		write_digest(recorder, key.hash);
		object_write(recorder, "object", key.object);
		request_name_write(recorder, "request", key.name);
		json_u64(json, "count", sum.count);
		json_u64(json, "sum_ns", sum.ns);
		json_u64(json, "max_ns", sum.latency.max_ns);
		json_u64(json, "owned", sum.owned);
		json_u64(json, "repeated", sum.repeated);
		counts_write(json, "buckets", sum.latency.buckets, LATENCY_BUCKETS);
		json_write(json, &recorder->output);
	}
}
