// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CPUs' counters of cycles as events of the kernel's msr driver, which needs no module: one on each CPU, read by
 * cpu/cpu_clock.bpf.c there.  To open and to close one interrupts its CPU once.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "program/probes.h"
#include "perfdiag.skel.h"

#define MSR "/sys/bus/event_source/devices/msr"

/* The number in a file of sysfs, behind what may stand before it; -1: none. */
static int number_in(const char *path, const char *format)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	int number;

	return file && fscanf(file, format, &number) == 1 ? number : -1;
}

bool clock_events_exist(void)
{
	return !access(MSR "/events/aperf", F_OK) && !access(MSR "/events/mperf", F_OK);
}

/* The map keeps the event once its descriptor is closed. */
static int open_on(int cpu, int map, int type, int config)
{
	struct perf_event_attr attributes = { .size = sizeof(attributes), .type = type, .config = config };
	_cleanup_close_ int fd = syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	__u32 key = cpu;

	if (fd < 0)
		return -errno;
	return bpf_map_update_elem(map, &key, &fd, BPF_ANY) ? -errno : 0;
}

int clock_events_open(struct recorder *recorder)
{
	const struct perfdiag *skeleton = recorder->skeleton;
	const struct {
		const char *path;
		int map;
	} counters[] = { { MSR "/events/aperf", bpf_map__fd(skeleton->maps.aperf_events) },
			 { MSR "/events/mperf", bpf_map__fd(skeleton->maps.mperf_events) } };
	int cpus = libbpf_num_possible_cpus(), type = number_in(MSR "/type", "%d");

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		int config = number_in(counters[i].path, "event=%i");

		if (cpus < 0 || type < 0 || config < 0)
			return -ENOENT;
		for (int cpu = 0; cpu < cpus; cpu++) {
			int err = open_on(cpu, counters[i].map, type, config);

			if (err && err != -ENODEV) /* that one is not online */
				return err;
		}
	}
	return 0;
}
