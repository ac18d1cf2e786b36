// SPDX-License-Identifier: GPL-2.0-only
/* For what threads waited when they waited for each other: the root of each wait, and the way there. */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include "program/map_walk.h"
#include "recorder.h"
#include "perfdiag.skel.h"

void because_end(struct recorder *recorder)
{
	recorder->skeleton->bss->knobs.closing = 1;
}

static void write_because(struct recorder *recorder, const struct because_key *key, const struct because_sum *sum)
{
	const union way *way = &key->way;
	struct json *json = &recorder->json;
	int depth = way->depth & ~CHAIN_CUT;

	if (way->account >= ACCOUNT_COUNT || way->root >= ACCOUNT_COUNT || depth > CHAIN_STEPS)
		return;
	json_open(json, "because");
	json_u64(json, "pid", key->tgid);
	json_text(json, "account", account_names[way->account]);
	object_write(recorder, "object", nfs_object(recorder, key->object));
	json_array(json, "steps");
	for (int i = 0; i < depth; i++)
		if (way->steps[i] < ACCOUNT_COUNT)
			json_text(json, NULL, account_names[way->steps[i]]);
	json_end(json);
	json_bool(json, "cut", way->depth & CHAIN_CUT);
	json_text(json, "root", account_names[way->root]);
	object_write(recorder, "root_object", nfs_object(recorder, key->root_object));
	json_u64(json, "root_tid", sum->tid);
	json_u64(json, "root_tid_ns", sum->votes_ns);
	json_u64(json, "sum_ns", sum->ns);
	json_u64(json, "count", sum->count);
	json_bool(json, "inside", way->first);
	json_write(json, &recorder->output);
}

void because_write(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.because) };
	struct because_key key;
	struct because_sum sum;
	int err = probes_gather_reasons(recorder);

	if (err)
		fprintf(stderr, "warning: what living threads waited for cannot be read: %s\n", strerror(-err));
	while (map_next(&walk, &key, &sum))
		write_because(recorder, &key, &sum);
}
