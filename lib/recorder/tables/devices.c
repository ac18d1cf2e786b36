// SPDX-License-Identifier: GPL-2.0-only
/* Sums the kernel side keeps beside the threads: block devices and who uses them, operations. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include "program/map_walk.h"
#include "recorder.h"
#include "perfdiag.skel.h"

static void add_device(void *sum, const void *of_cpu)
{
	struct device_sum *total = sum;
	const struct device_sum *more = of_cpu;

	total->count += more->count;
	total->errors += more->errors;
	total->bytes += more->bytes;
	total->queue_ns += more->queue_ns;
	total->service_ns += more->service_ns;
	if (more->max_ns > total->max_ns)
		total->max_ns = more->max_ns;
	for (int i = 0; i < BUCKETS; i++) {
		total->queue_buckets[i] += more->queue_buckets[i];
		total->service_buckets[i] += more->service_buckets[i];
	}
}

static void write_devices(struct recorder *recorder)
{
	static const char *const operations[] = { "read", "write", "flush", "discard", "other" };
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.devices) };
	struct json *json = &recorder->json;
	struct device_key key;
	struct device_sum sum;

	while (map_next_sum(&walk, &key, &sum, sizeof(sum), add_device)) {
		if (key.operation > REQUEST_OTHER)
			continue;
		json_open(json, "device");
		device_write(json, "device", key.device);
		json_text(json, "operation", operations[key.operation]);
		json_u64(json, "count", sum.count);
		json_u64(json, "errors", sum.errors);
		json_u64(json, "bytes", sum.bytes);
		json_u64(json, "queue_ns", sum.queue_ns);
		json_u64(json, "service_ns", sum.service_ns);
		json_u64(json, "max_ns", sum.max_ns);
		buckets_write(json, "queue_buckets", sum.queue_buckets);
		buckets_write(json, "service_buckets", sum.service_buckets);
		json_write(json, &recorder->output);
	}
}

static const char *const io_classes[] = {
	[IO_CLASS_REAL_TIME] = "real-time",
	[IO_CLASS_BEST_EFFORT] = "best-effort",
	[IO_CLASS_IDLE] = "idle",
};

static void write_disk_users(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.disk_users) };
	struct json *json = &recorder->json;
	struct disk_user_key key;
	struct disk_user user;

	while (map_next(&walk, &key, &user)) {
		json_open(json, "disk_user");
		device_write(json, "device", key.device);
		json_u64(json, "pid", key.pid);
		json_bytes(json, "comm", user.comm, strnlen(user.comm, COMM_BYTES));
		json_bool(json, "kernel_thread", user.kernel_thread);
		if (user.io_class < sizeof(io_classes) / sizeof(*io_classes) && io_classes[user.io_class])
			json_text(json, "io_class", io_classes[user.io_class]);
		json_u64(json, "count", user.count);
		json_u64(json, "read_bytes", user.read_bytes);
		json_u64(json, "written_bytes", user.written_bytes);
		json_write(json, &recorder->output);
	}
}

static void add_operation(struct operation_sum *total, const struct operation_sum *more)
{
	total->count += more->count;
	total->errors += more->errors;
	total->ns += more->ns;
	if (more->max_ns > total->max_ns)
		total->max_ns = more->max_ns;
	for (int i = 0; i < BUCKETS; i++)
		total->buckets[i] += more->buckets[i];
	sums_add(total->accounts, more->accounts);
}

static void write_operation(struct recorder *recorder, __u64 call, const struct operation_sum *total,
			    const struct operation_sum *over)
{
	struct json *json = &recorder->json;

	json_open(json, "operation");
	object_write(recorder, "name", call);
	json_u64(json, "count", total->count);
	json_u64(json, "errors", total->errors);
	json_u64(json, "sum_ns", total->ns);
	json_u64(json, "max_ns", total->max_ns);
	buckets_write(json, "buckets", total->buckets);
	json_u64(json, "over_slo", over->count);
	sums_write(json, "accounts", total->accounts);
	sums_write(json, "over_slo_accounts", over->accounts);
	json_write(json, &recorder->output);
}

static void write_operations(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.operations) };
	struct operation_key key, other;
	struct operation_sum sum;

	while (map_next(&walk, &key, &sum)) {
		struct operation_sum total = sum, rest = {};

		other = (struct operation_key){ .call = key.call, .over_slo = !key.over_slo };
		/* A call with operations on both sides of the objective is written when its fast ones are met. */
		if (!bpf_map_lookup_elem(walk.fd, &other, &rest) && key.over_slo)
			continue;
		add_operation(&total, &rest);
		write_operation(recorder, key.call, &total, key.over_slo ? &sum : &rest);
	}
}

void tables_write(struct recorder *recorder)
{
	write_operations(recorder);
	write_devices(recorder);
	write_disk_users(recorder);
	sockets_write(recorder);
	packet_drops_write(recorder);
	requests_write(recorder);
	left_unread_write(recorder);
	silent_write(recorder);
	nfs_write(recorder);
	cpus_write(recorder);
	vm_exits_write(recorder);
	tables_write_memory(recorder);
}
