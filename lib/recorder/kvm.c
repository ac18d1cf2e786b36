// SPDX-License-Identifier: GPL-2.0-only
/* Exits of virtual CPUs, by process, reason and what they touched. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include "cleanup.h"
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

/* One sum out of the copies each CPU keeps. */
static struct vm_exit_sum over_cpus(const struct vm_exit_sum *sums, int cpus)
{
	struct vm_exit_sum total = {};

	for (int cpu = 0; cpu < cpus; cpu++) {
		total.count += sums[cpu].count;
		total.ns += sums[cpu].ns;
		total.running_ns += sums[cpu].running_ns;
		total.halted_ns += sums[cpu].halted_ns;
		total.polled_ns += sums[cpu].polled_ns;
		if (sums[cpu].max_ns > total.max_ns)
			total.max_ns = sums[cpu].max_ns;
		for (int i = 0; i < BUCKETS; i++)
			total.buckets[i] += sums[cpu].buckets[i];
	}
	return total;
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
	int map = bpf_map__fd(recorder->skeleton->maps.vm_exits), cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct vm_exit_sum *sums = calloc(cpus > 0 ? cpus : 1, sizeof(*sums));
	struct vm_exit_key key, *previous = NULL;

	while (sums && !bpf_map_get_next_key(map, previous, &key)) {
		struct vm_exit_sum sum;

		previous = &key;
		if (bpf_map_lookup_elem(map, &key, sums))
			continue;
		sum = over_cpus(sums, cpus);
		write_exit(recorder, &key, &sum);
	}
}
