// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel side keeps of NFS: calls of its clients, flushes of the target, requests that this host served. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include "program/map_walk.h"
#include "nfs/nfs_records.h"
#include "recorder.h"
#include "perfdiag.skel.h"
#include "program/syscall_table.h"

/* An object keeps 56 bits of a client's id, which is an address of the kernel: the others are the same in all. */
#define CLIENT_ID(object) (OBJECT_ID(object) | 0xffULL << 56)

__u64 nfs_object(struct recorder *recorder, __u64 object)
{
	__u64 client = CLIENT_ID(object);
	__u32 device;

	if (OBJECT_KIND(object) != OBJECT_RPC ||
	    bpf_map_lookup_elem(bpf_map__fd(recorder->skeleton->maps.rpc_mounts), &client, &device))
		return object;
	return OBJECT(OBJECT_MOUNT, device);
}

static void write_text(struct json *json, const char *key, const char *text, size_t size)
{
	json_bytes(json, key, text, strnlen(text, size));
}

static void write_server(struct json *json, const char *key, const struct rpc_name *name)
{
	json_format(json, key, "server:%.*s", RPC_SERVER_BYTES, name->server);
}

/* The server of a client whose mount was never met: of any call that it made. */
void nfs_server_write(struct recorder *recorder, const char *key, __u64 client)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.rpc_names) };
	struct rpc_key rpc;
	struct rpc_name name;
	__u64 object = nfs_object(recorder, OBJECT(OBJECT_RPC, client));

	if (OBJECT_KIND(object) == OBJECT_MOUNT)
		return object_write(recorder, key, object);
	while (map_next(&walk, &rpc, &name))
		if (rpc.client == CLIENT_ID(client))
			return write_server(&recorder->json, key, &name);
	json_text(&recorder->json, key, "");
}

static void add_rpc(void *sum, const void *of_cpu)
{
	struct rpc_sum *total = sum;
	const struct rpc_sum *more = of_cpu;

	total->count += more->count;
	total->errors += more->errors;
	total->retransmits += more->retransmits;
	total->bytes_sent += more->bytes_sent;
	total->bytes_received += more->bytes_received;
	total->queue_ns += more->queue_ns;
	total->wire_ns += more->wire_ns;
	total->reply_ns += more->reply_ns;
	if (more->max_ns > total->max_ns)
		total->max_ns = more->max_ns;
	for (int i = 0; i < BUCKETS; i++) {
		total->queue_buckets[i] += more->queue_buckets[i];
		total->wire_buckets[i] += more->wire_buckets[i];
	}
}

static void write_rpc(struct recorder *recorder, __u64 client, const struct rpc_name *name, const struct rpc_sum *sum)
{
	struct json *json = &recorder->json;

	json_open(json, "rpc");
	nfs_server_write(recorder, "object", OBJECT_ID(client));
	/* The program for locks goes by the name of the Linux daemon in the client, and by that of its protocol else. */
	write_text(json, "program", strcmp(name->program, "lockd") ? name->program : "nlm", sizeof(name->program));
	json_u64(json, "version", name->version);
	write_text(json, "procedure", name->procedure, sizeof(name->procedure));
	json_u64(json, "count", sum->count);
	json_u64(json, "errors", sum->errors);
	json_u64(json, "retransmits", sum->retransmits);
	json_u64(json, "bytes_sent", sum->bytes_sent);
	json_u64(json, "bytes_received", sum->bytes_received);
	json_u64(json, "queue_ns", sum->queue_ns);
	json_u64(json, "wire_ns", sum->wire_ns);
	json_u64(json, "reply_ns", sum->reply_ns);
	json_u64(json, "max_ns", sum->max_ns);
	buckets_write(json, "queue_buckets", sum->queue_buckets);
	buckets_write(json, "wire_buckets", sum->wire_buckets);
	json_write(json, &recorder->output);
}

static void write_rpcs(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.rpcs) };
	int names = bpf_map__fd(recorder->skeleton->maps.rpc_names);
	struct rpc_key key;
	struct rpc_sum sum;

	while (map_next_sum(&walk, &key, &sum, sizeof(sum), add_rpc)) {
		struct rpc_name name = {};

		if (!bpf_map_lookup_elem(names, &key, &name))
			write_rpc(recorder, key.client, &name, &sum);
	}
}

static void write_flushes(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.nfs_flushes) };
	struct nfs_flush_key key;
	struct json *json = &recorder->json;
	struct nfs_flush_sum sum;

	while (map_next(&walk, &key, &sum)) {
		__u64 call = OBJECT_ID(key.call);
		const char *name = key.call ? syscall_name((__u32)call, call & OBJECT_SYSCALL_I386) : NULL;

		json_open(json, "nfs_flush");
		object_write(recorder, "object", OBJECT(OBJECT_MOUNT, key.device));
		json_text(json, "cause", name ? name : "");
		json_u64(json, "count", sum.count);
		json_u64(json, "sum_ns", sum.ns);
		json_u64(json, "max_ns", sum.max_ns);
		buckets_write(json, "buckets", sum.buckets);
		json_u64(json, "commits", sum.commits);
		json_u64(json, "writes", sum.writes);
		json_u64(json, "stable_writes", sum.stable_writes);
		json_u64(json, "bytes", sum.bytes);
		json_write(json, &recorder->output);
	}
}

static const char *program_name(__u32 program)
{
	switch (program) {
	case NFSD_OPERATION:
	case PROGRAM_NFS: return "nfs";
	case PROGRAM_NLM: return "nlm";
	case PROGRAM_NFSACL: return "nfsacl";
	}
	return "";
}

static void write_served(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.nfsd_requests) };
	struct nfsd_key key;
	struct json *json = &recorder->json;
	struct nfsd_sum sum;

	while (map_next(&walk, &key, &sum)) {
		size_t skip = key.program == NFSD_OPERATION && !strncmp(sum.name, "OP_", 3) ? 3 : 0;
		json_open(json, "nfs_server");
		json_text(json, "program", program_name(key.program));
		json_u64(json, "version", key.version);
		write_text(json, "procedure", sum.name + skip, sizeof(sum.name) - skip);
		json_u64(json, "count", sum.count);
		json_u64(json, "sum_ns", sum.ns);
		json_u64(json, "max_ns", sum.max_ns);
		buckets_write(json, "buckets", sum.buckets);
		json_write(json, &recorder->output);
	}
}

void nfs_write(struct recorder *recorder)
{
	write_rpcs(recorder);
	write_flushes(recorder);
	write_served(recorder);
}
