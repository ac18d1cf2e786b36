// SPDX-License-Identifier: GPL-2.0-only
/* For what threads of the target waited when a process outside of it ended their waits: what that was in meanwhile. */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include "base/process_files.h"
#include "program/map_walk.h"
#include "recorder.h"
#include "perfdiag.skel.h"

static void write_peer_wait(struct recorder *recorder, const struct peer_wait_key *key, __u64 ns)
{
	struct json *json = &recorder->json;

	if (key->account >= ACCOUNT_COUNT || key->root >= ACCOUNT_COUNT)
		return;
	json_open(json, "peer_wait");
	json_u64(json, "pid", key->tgid);
	json_text(json, "account", account_names[key->account]);
	object_write(recorder, "object", key->object);
	json_u64(json, "peer_pid", key->peer);
	comm_write(recorder, "peer_comm", key->peer);
	json_text(json, "root", account_names[key->root]);
	object_write(recorder, "root_object", nfs_object(recorder, key->root_object));
	json_u64(json, "root_pid", key->root_tid ? process_of_thread(key->root_tid) : 0);
	json_u64(json, "root_tid", key->root_tid);
	comm_write(recorder, "root_comm", key->root_tid);
	json_u64(json, "sum_ns", ns);
	json_write(json, &recorder->output);
}

void peer_waits_write(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.peer_waits) };
	struct peer_wait_key key;
	__u64 ns;

	while (map_next(&walk, &key, &ns))
		write_peer_wait(recorder, &key, ns);
}
