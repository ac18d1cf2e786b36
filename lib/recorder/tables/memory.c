// SPDX-License-Identifier: GPL-2.0-only
/* Sums about memory that the kernel side keeps beside the threads: files that were read, dirty pages and whose. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "program/map_walk.h"
#include "recorder.h"
#include "perfdiag.skel.h"

static void write_file_read(struct recorder *recorder, __u64 file, const struct file_sum *sum, uint64_t page_bytes)
{
	struct json *json = &recorder->json;

	json_open(json, "file_read");
	object_write(recorder, "object", file);
	json_u64(json, "bytes", sum->pages * page_bytes);
	json_u64(json, "waits", sum->waits);
	json_u64(json, "sum_ns", sum->ns);
	json_u64(json, "size_bytes", sum->size_bytes);
	json_write(json, &recorder->output);
}

static void write_file_flush(struct recorder *recorder, __u64 file, const struct file_sum *sum)
{
	struct json *json = &recorder->json;

	json_open(json, "file_flush");
	object_write(recorder, "object", file);
	json_u64(json, "waits", sum->flushes);
	json_u64(json, "sum_ns", sum->flush_ns);
	json_write(json, &recorder->output);
}

static void write_files(struct recorder *recorder, uint64_t page_bytes)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.files) };
	struct file_sum sum;
	__u64 key;

	while (map_next(&walk, &key, &sum)) {
		if (sum.pages || sum.waits)
			write_file_read(recorder, key, &sum, page_bytes);
		if (sum.flushes)
			write_file_flush(recorder, key, &sum);
	}
}

static void write_writebacks(struct recorder *recorder, uint64_t page_bytes)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.writebacks) };
	struct writeback_key key;
	struct json *json = &recorder->json;
	struct writeback_sum sum;

	while (map_next(&walk, &key, &sum)) {
		__s64 written;

		written = sum.last_written - sum.first_written;
		json_open(json, "writeback");
		device_write(json, "device", key.device);
		json_u64(json, "cgroup", key.cgroup);
		json_u64(json, "rounds", sum.rounds);
		json_u64(json, "dirty_bytes", sum.most_pages * page_bytes);
		json_u64(json, "written_bytes", written > 0 ? written * page_bytes : 0);
		json_u64(json, "span_ns", sum.last_ns > sum.first_ns ? sum.last_ns - sum.first_ns : 0);
		json_write(json, &recorder->output);
	}
}

static void write_dirtiers(struct recorder *recorder, uint64_t page_bytes)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.dirtiers) };
	struct dirtier_key key;
	struct json *json = &recorder->json;
	struct dirtier dirtier;

	while (map_next(&walk, &key, &dirtier)) {
		json_open(json, "dirtier");
		device_write(json, "device", key.device);
		json_u64(json, "pid", dirtier.tgid);
		json_u64(json, "tid", key.tid);
		json_bytes(json, "comm", dirtier.comm, strnlen(dirtier.comm, COMM_BYTES));
		json_u64(json, "rounds", dirtier.rounds);
		json_u64(json, "bytes", dirtier.pages * page_bytes);
		json_write(json, &recorder->output);
	}
}

void tables_write_memory(struct recorder *recorder)
{
	uint64_t page_bytes = sysconf(_SC_PAGESIZE);

	write_files(recorder, page_bytes);
	write_writebacks(recorder, page_bytes);
	write_dirtiers(recorder, page_bytes);
}
