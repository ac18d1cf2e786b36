// SPDX-License-Identifier: GPL-2.0-only
/*
 * block - how long do a device's requests queue, and how long does the device itself take?
 *
 * HOOKS   tp_btf block_rq_complete; all times come from the request itself (start_time_ns, io_start_time_ns).
 * COST    one hash look-up a completed request.
 * CANNOT  see who asked: the sums are the device's, whoever uses it.  Requests of drivers without I/O statistics
 *         have no start time and are counted without one.  Time in a cgroup's I/O throttle comes before the request.
 */
#include "core/buckets.bpf.h"
#include "disk/disk_number.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct device_key);
	__type(value, struct device_sum);
} devices SEC(".maps");

static __always_inline __u32 kind_of(unsigned int flags)
{
	switch (flags & REQUEST_OPERATION) {
	case 0: return REQUEST_READ;
	case 1: return REQUEST_WRITE;
	case 2: return REQUEST_FLUSH;
	case 3:
	case 5: return REQUEST_DISCARD;
	}
	return REQUEST_OTHER;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *request, int error, unsigned int bytes)
{
	struct device_key key = {};
	struct device_sum *sum;
	__u64 now = bpf_ktime_get_ns(), start = request->start_time_ns, issued = request->io_start_time_ns;
	struct gendisk *disk = LOAD(request_queue, LOAD(request, request, q), disk);

	if (disk)
		key.device = number_of_disk(disk);
	key.operation = kind_of(request->cmd_flags);
	sum = FIND_OR_MAKE(devices, &key, COUNTER_DEVICES_FULL, NULL);
	if (!sum)
		return 0;
	sum->count++;
	sum->errors += error != 0;
	sum->bytes += bytes;
	if (issued && now > issued) {
		sum->service_ns += now - issued;
		count_in(sum->service_buckets, now - issued);
	}
	if (start && issued >= start) {
		sum->queue_ns += issued - start;
		count_in(sum->queue_buckets, issued - start);
	}
	if (start && now - start > sum->max_ns)
		sum->max_ns = now - start;
	return 0;
}
