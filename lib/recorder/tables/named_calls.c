// SPDX-License-Identifier: GPL-2.0-only
/* Calls that the target made whose text names what is asked (bpf/request/named_call.bpf.h). */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "program/map_walk.h"
#include "recorder.h"
#include "perfdiag.skel.h"

void named_calls_write(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.named_calls) };
	struct json *json = &recorder->json;
	struct named_call_key key;
	struct named_call_sum sum;

	while (map_next(&walk, &key, &sum)) {
		if (!sum.count)
			continue;
		json_open(json, "named_call");
		object_write(recorder, "object", key.object);
		request_name_write(recorder, "name", key.name);
		request_name_write(recorder, "request", key.request);
		json_u64(json, "count", sum.count);
		json_u64(json, "sum_ns", sum.ns);
		json_u64(json, "max_ns", sum.latency.max_ns);
		json_u64(json, "owned", sum.owned);
		json_u64(json, "missed", sum.missed);
		counts_write(json, "buckets", sum.latency.buckets, LATENCY_BUCKETS);
		json_write(json, &recorder->output);
	}
}
