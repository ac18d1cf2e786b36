// SPDX-License-Identifier: GPL-2.0-only
/* Exits of virtual CPUs, by process, reason and what they touched. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "program/map_walk.h"
#include "recorder.h"
#include "perfdiag.skel.h"

#define DEVICE_KIND(device) ((device) >> 60)
#define DEVICE_ID(device) ((device) & ((1ULL << 60) - 1))

const char *vm_vendor_name(enum vm_vendor vendor)
{
	switch (vendor) {
	case VM_VMX: return "vmx";
	case VM_SVM: return "svm";
	case VM_ARM64: return "arm64";
	}
	return "unknown";
}

static void add_exits(void *sum, const void *of_cpu)
{
	struct vm_exit_sum *total = sum;
	const struct vm_exit_sum *more = of_cpu;

	total->count += more->count;
	total->ns += more->ns;
	total->running_ns += more->running_ns;
	total->halted_ns += more->halted_ns;
	total->polled_ns += more->polled_ns;
	if (more->max_ns > total->max_ns)
		total->max_ns = more->max_ns;
	for (int i = 0; i < BUCKETS; i++)
		total->buckets[i] += more->buckets[i];
}

static void write_device(struct json *json, __u64 device)
{
	unsigned long long id = DEVICE_ID(device);

	if (DEVICE_KIND(device) == DEVICE_KIND(VM_PORT(0)))
		json_format(json, "device", "port:%#llx", id);
	else if (DEVICE_KIND(device) == DEVICE_KIND(VM_PAGE(0)))
		json_format(json, "device", "mmio:%#llx", id);
	else
		json_text(json, "device", "");
}

static void write_exit(struct recorder *recorder, const struct vm_exit_key *key, const struct vm_exit_sum *sum)
{
	struct json *json = &recorder->json;

	json_open(json, "vm_exit");
	json_u64(json, "pid", key->tgid);
	json_text(json, "vendor", vm_vendor_name(OBJECT_ID(key->exit) >> 32));
	json_u64(json, "code", (__u32)key->exit);
	json_bool(json, "user", key->user);
	write_device(json, key->device);
	json_u64(json, "count", sum->count);
	json_u64(json, "sum_ns", sum->ns);
	json_u64(json, "max_ns", sum->max_ns);
	json_u64(json, "running_ns", sum->running_ns);
	json_u64(json, "halted_ns", sum->halted_ns);
	json_u64(json, "polled_ns", sum->polled_ns);
	buckets_write(json, "buckets", sum->buckets);
	json_write(json, &recorder->output);
}

void vm_exits_write(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.vm_exits) };
	struct vm_exit_key key;
	struct vm_exit_sum sum;

	while (map_next_sum(&walk, &key, &sum, sizeof(sum), add_exits))
		write_exit(recorder, &key, &sum);
}
