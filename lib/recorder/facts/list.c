// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/hotspot.h"
#include "facts/internal.h"

#define B FACTS_BEGIN
#define S FACTS_SERIES
#define E FACTS_END

#define DIRECTORIES_MAX 32 /* matches of a rule's directory, unless the rule says otherwise */

/*
 * What is read: all names in all directories that match.  A plain directory's missing file is recorded as missing;
 * where a directory is a pattern, only what exists is.  Never cmdline, environ, exe, maps, smaps and numa_maps of a
 * process: they need its mmap_lock, which a stuck page fault may hold for ever.
 *
 * No report asks for loadavg, dentry-state, softnet_stat and the status of intel_pstate and amd_pstate: they are for
 * people who read a recording.
 */
struct rule {
	const char *directory;
	const char *names; /* separated by blanks */
	int phases;
	uint32_t limit;	  /* bytes of text; 0: the usual */
	unsigned int max; /* directories; 0: the usual */
	const char *until;
};

static const struct rule process_rules[] = {
	{ "", "stat status schedstat io limits cgroup oom_score_adj wchan autogroup", .phases = B | E },
	{ "", "fd", .phases = B | S | E },
};

/* Once for each namespace the targets live in. */
static const struct rule network_rules[] = {
	{ "/net", "snmp", .phases = B | S | E },
	{ "/net", "netstat dev sockstat", .phases = B | E },
	{ "/net", "udp udp6", .phases = B | E, .limit = 32 * 1024 },
};

/* Likewise, unless it is our own namespace, which host_rules read. */
static const struct rule mount_rules[] = {
	{ "", "mountinfo", .phases = B, .limit = FACTS_TEXT_MAX },
};

static const struct rule host_rules[] = {
	/* first: without it no device and no mount has a name, and a host in trouble may not get to the end */
	{ "/proc/self", "mountinfo mountstats", .phases = B | E, .limit = FACTS_TEXT_MAX },
	{ "/proc", "stat", .phases = B | S | E, .limit = FACTS_TEXT_MAX, .until = "\nintr " },
	{ "/proc/pressure", "cpu memory io irq", .phases = B | S | E },
	{ "/proc/sys/fs", "file-nr dentry-state", .phases = B | S | E },
	{ "/proc", "meminfo vmstat loadavg diskstats swaps softirqs", .phases = B | E },
	{ "/proc", "cpuinfo", .phases = B, .limit = 8192, .until = "\nprocessor\t: 1\n" },
	{ "/sys/devices/system/clocksource/clocksource0", "current_clocksource available_clocksource",
	  .phases = B | E },
	{ "/dev", "kmsg", .phases = B | E, .limit = FACTS_TEXT_MAX },

	/* counters of the clock each CPU was given; only where the msr driver is loaded already */
	{ "/dev/cpu/*", "msr", .phases = B | E, .max = 64 },
	{ "/sys/devices/system/cpu/cpufreq/policy*", "scaling_cur_freq", .phases = B | S | E },
	{ "/sys/devices/system/cpu/cpufreq/policy*",
	  "affected_cpus scaling_driver scaling_governor energy_performance_preference scaling_min_freq "
	  "scaling_max_freq cpuinfo_min_freq cpuinfo_max_freq base_frequency bios_limit",
	  .phases = B },
	{ "/sys/devices/system/cpu/intel_pstate", "status no_turbo max_perf_pct turbo_pct", .phases = B },
	{ "/sys/devices/system/cpu/amd_pstate", "status", .phases = B },
	{ "/sys/devices/system/cpu/cpufreq", "boost", .phases = B },
	/* power of the packages; their energy is asked of one CPU each, hence never in the series */
	{ "/sys/class/powercap/intel-rapl:?", "name enabled constraint_0_power_limit_uw max_energy_range_uj",
	  .phases = B },
	{ "/sys/class/powercap/intel-rapl:?", "energy_uj", .phases = B | E },
	{ "/sys/devices/system/cpu/cpu*/thermal_throttle", "core_throttle_count package_throttle_count",
	  .phases = B | E, .max = 64 },
	{ "/sys/devices/system/cpu/cpuidle", "current_driver current_governor current_governor_ro", .phases = B },
	{ "/sys/devices/system/cpu/cpu*/cpuidle/state*", "name latency residency disable usage time", .phases = B,
	  .max = 160 },
	{ "/sys/devices/system/cpu/cpu*/cpuidle/state*", "usage time", .phases = E, .max = 160 },
	{ "/sys/devices/system/cpu", "online isolated nohz_full", .phases = B },
	{ "/sys/devices/system/cpu/smt", "active", .phases = B },
	{ "/sys/devices/system/cpu/vulnerabilities", "*", .phases = B },

	{ "/sys/class/dmi/id", "sys_vendor product_name product_version bios_vendor board_vendor chassis_asset_tag",
	  .phases = B },
	{ CPUID_FACTS, "hypervisor exit_ns", .phases = B },
	{ "/sys/hypervisor", "type guest_type", .phases = B },
	{ "/sys/hypervisor/version", "extra", .phases = B },
	{ "/proc/device-tree/hypervisor", "compatible", .phases = B },

	/* patterns: only where the modules are loaded */
	{ "/proc/sys/sunrp[c]", "tcp_slot_table_entries tcp_max_slot_table_entries", .phases = B },
	{ "/sys/module/nf[s]/parameters", "max_session_slots", .phases = B },
	{ "/proc/net/rp[c]", "nfsd", .phases = B | E },
	{ SOCKET_FACTS, "nfs", .phases = B | E },
	{ "/sys/block", "*", .phases = B },
	{ "/sys/block/*", "dev size", .phases = B, .max = 128 },
	{ "/sys/block/*/queue",
	  "scheduler rotational write_cache nr_requests nr_zones logical_block_size max_sectors_kb wbt_lat_usec "
	  "read_ahead_kb",
	  .phases = B, .max = 128 },
	{ "/sys/block/*/device", "vendor model driver device/driver transport", .phases = B, .max = 128 },
	{ "/sys/block/*",
	  "slaves/* md/level md/array_state md/degraded md/raid_disks md/sync_action dm/name dm/uuid "
	  "loop/backing_file loop/dio",
	  .phases = B, .max = 128 },
	{ "/sys/block/*", "md/degraded md/array_state", .phases = E, .max = 128 },
	{ "/sys/block/*/*", "partition dev", .phases = B, .max = 1024 },
	{ "/sys/class/scsi_host/*", "proc_name", .phases = B, .max = 128 },

	{ "/sys/class/net", "*", .phases = B },
	{ "/sys/class/net/*", "mtu speed duplex operstate type device/driver device/vendor device/device",
	  .phases = B },
	{ "/sys/class/net/*/statistics",
	  "rx_bytes rx_packets rx_errors rx_dropped rx_missed_errors rx_over_errors rx_fifo_errors rx_crc_errors "
	  "tx_bytes tx_packets tx_errors tx_dropped tx_carrier_errors tx_fifo_errors collisions",
	  .phases = B | E },
	{ "/proc/net", "softnet_stat", .phases = B | E },

	{ "/proc/sys/vm",
	  "dirty_ratio dirty_background_ratio dirty_bytes dirty_background_bytes dirty_expire_centisecs "
	  "dirty_writeback_centisecs swappiness overcommit_memory overcommit_ratio nr_hugepages min_free_kbytes "
	  "zone_reclaim_mode max_map_count",
	  .phases = B },
	{ "/sys/module", "kvm", .phases = B | E }, /* loaded meanwhile? */
	{ "/sys/module/kvm/parameters", "halt_poll_ns", .phases = B },
	{ "/proc/sys/kernel",
	  "numa_balancing threads-max pid_max sched_rt_runtime_us sched_rt_period_us "
	  "sched_autogroup_enabled",
	  .phases = B },
	{ "/proc/sys/fs", "nr_open", .phases = B },
	{ "/proc/sys/net/netfilter", "nf_conntrack_max", .phases = B },
	{ "/proc/sys/net/ipv4/neigh/default", "gc_thresh3", .phases = B },
	{ "/proc/sys/net/core", "somaxconn rmem_max wmem_max", .phases = B },
	{ "/proc/sys/net/ipv4", "tcp_rmem tcp_wmem tcp_congestion_control tcp_slow_start_after_idle", .phases = B },
	{ "/sys/class/bdi/*", "max_ratio min_ratio strict_limit", .phases = B, .max = 128 },
	{ "/sys/kernel/mm/transparent_hugepage", "enabled defrag shmem_enabled khugepaged/defrag", .phases = B },
	{ "/sys/kernel/mm/ksm", "run pages_shared pages_sharing pages_to_scan", .phases = B },
	{ "/sys/kernel/mm/ksm", "pages_scanned full_scans", .phases = B | E },
	{ "/sys/devices/system/node/node*", "cpulist distance", .phases = B },
	{ "/sys/devices/system/node/node*", "meminfo numastat", .phases = B | E },
	{ "/proc/fs/nfsd", "threads", .phases = B },
	{ "/proc", "version", .phases = B },
	{ "/proc", "buddyinfo", .phases = B | E },
	{ "/proc", "interrupts", .phases = B | E, .limit = 32 * 1024 },
	{ "/proc", "locks", .phases = E, .limit = 32 * 1024 },
};

int wanted_add(struct wanted_list *list, const char *path, uint32_t limit, const char *until)
{
	char *copy;

	if (list->count == FACTS_PATHS_MAX)
		return 0; /* facts_write() says so */
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 256;
		struct wanted *items = reallocarray(list->items, capacity, sizeof(*items));

		if (!items)
			return -ENOMEM;
		list->items = items;
		list->capacity = capacity;
	}
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	list->items[list->count++] = (struct wanted){
		.path = copy,
		.limit = limit ?: FACTS_DEFAULT_MAX,
		.until = until,
	};
	return 0;
}

bool wanted_has(const struct wanted_list *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].path, path) == 0)
			return true;
	return false;
}

void wanted_free(struct wanted_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].path);
	free(list->items);
	*list = (struct wanted_list){};
}

static bool is_pattern(const char *text)
{
	return strpbrk(text, "*?[");
}

static bool exists(const char *path)
{
	return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* One name of a rule in one directory that exists or was named in full. */
static int add_name(struct wanted_list *list, const struct rule *rule, const char *directory, const char *name)
{
	_cleanup_free_ char *path = NULL;
	glob_t matches = {};
	int err = 0;

	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (!is_pattern(name)) {
		if (is_pattern(rule->directory) && !exists(path))
			return 0;
		return wanted_add(list, path, rule->limit, rule->until);
	}
	if (glob(path, 0, NULL, &matches) == 0)
		for (size_t i = 0; i < matches.gl_pathc && i < 512 && !err; i++)
			err = wanted_add(list, matches.gl_pathv[i], rule->limit, rule->until);
	globfree(&matches);
	return err;
}

static int add_directory(struct wanted_list *list, const struct rule *rule, const char *directory)
{
	_cleanup_free_ char *names = strdup(rule->names);
	char *rest = names, *name;
	int err = 0;

	if (!names)
		return -ENOMEM;
	while (!err && (name = strsep(&rest, " ")))
		err = add_name(list, rule, directory, name);
	return err;
}

/* Most hosts have loop devices that nobody uses; their links are recorded, the rest is left out. */
static bool is_unused_disk(const char *directory)
{
	_cleanup_fclose_ FILE *file = NULL;
	char name[96], path[128];

	if (sscanf(directory, "/sys/block/%95[^/]", name) != 1)
		return false;
	snprintf(path, sizeof(path), "/sys/block/%s/size", name);
	file = fopen(path, "re");
	return file && fgetc(file) == '0';
}

static int add_rule(struct wanted_list *list, const struct rule *rule)
{
	size_t max = rule->max ?: DIRECTORIES_MAX;
	glob_t matches = {};
	int err = 0;

	if (!is_pattern(rule->directory))
		return add_directory(list, rule, rule->directory);
	if (glob(rule->directory, 0, NULL, &matches))
		err = wanted_add(list, rule->directory, rule->limit, NULL); /* recorded as missing */
	for (size_t i = 0; i < matches.gl_pathc && i < max && !err; i++)
		if (!is_unused_disk(matches.gl_pathv[i]))
			err = add_directory(list, rule, matches.gl_pathv[i]);
	globfree(&matches);
	return err;
}

static int add_process(struct wanted_list *list, enum facts_phase phase, pid_t pid, const struct rule *rules, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		char directory[64];

		snprintf(directory, sizeof(directory), "/proc/%d%s", pid, rules[i].directory);
		if (rules[i].phases & phase)
			err = add_directory(list, &rules[i], directory);
	}
	return err;
}

static bool same_namespace(pid_t pid, const char *other, const char *name)
{
	char path[64], own_text[64] = "", other_text[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	if (readlink(path, own_text, sizeof(own_text) - 1) < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%s/ns/%s", other, name);
	return readlink(path, other_text, sizeof(other_text) - 1) > 0 && strcmp(own_text, other_text) == 0;
}

static bool first_in_namespace(const pid_t *pids, size_t index, const char *name)
{
	char other[16];

	for (size_t i = 0; i < index; i++) {
		snprintf(other, sizeof(other), "%d", pids[i]);
		if (same_namespace(pids[index], other, name))
			return false;
	}
	return true;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int facts_list(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count)
{
	int err = 0;

	if (count > FACTS_PIDS_MAX)
		count = FACTS_PIDS_MAX;
	for (size_t i = 0; i < count && !err; i++) {
		err = add_process(list, phase, pids[i], process_rules, COUNT(process_rules));
		if (!err && phase != FACTS_SERIES)
			err = facts_list_affinity(list, pids[i]);
		if (!err && i == 0)
			err = add_process(list, phase, pids[i], network_rules, COUNT(network_rules));
	}
	if (!err)
		err = facts_list_cgroups(list, phase, pids, count);
	for (size_t i = 0; i < COUNT(host_rules) && !err; i++)
		if (host_rules[i].phases & phase)
			err = add_rule(list, &host_rules[i]);
	return err;
}

static int add_traffic_control(struct wanted_list *list, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), TRAFFIC_CONTROL_FACT "%d", pid);
	return wanted_add(list, path, FACTS_TEXT_MAX, NULL);
}

int facts_list_namespaces(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count)
{
	int err = 0;

	if (count > FACTS_PIDS_MAX)
		count = FACTS_PIDS_MAX;
	for (size_t i = 0; i < count && !err; i++) {
		bool first = first_in_namespace(pids, i, "net");

		if (first && i > 0)
			err = add_process(list, phase, pids[i], network_rules, COUNT(network_rules));
		if (!err && first)
			err = add_traffic_control(list, pids[i]);
		if (!err && first_in_namespace(pids, i, "mnt") && !same_namespace(pids[i], "self", "mnt"))
			err = add_process(list, phase, pids[i], mount_rules, COUNT(mount_rules));
	}
	return err ?: facts_list_answers(list, phase, pids, count);
}
