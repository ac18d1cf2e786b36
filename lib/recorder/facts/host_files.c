// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files that say how the whole host is set up and how it does, the most important first.
 *
 * No report asks for loadavg, dentry-state, softnet_stat and the status of intel_pstate and amd_pstate: they are for
 * people who read a recording.
 */
#include "facts/internal.h"
#include "facts/rules.h"

#define B FACTS_BEGIN
#define S FACTS_SERIES
#define E FACTS_END

const struct fact_rule host_rules[] = {
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
	{ "/sys/devices/system/cpu", "online present isolated nohz_full", .phases = B },
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
	  "read_ahead_kb nomerges",
	  .phases = B, .max = 128 },
	{ "/sys/block/*/device", "vendor model driver device/driver transport queue_depth state", .phases = B,
	  .max = 128 },
	{ "/sys/block/*",
	  "slaves/* md/level md/array_state md/degraded md/raid_disks md/sync_action dm/name dm/uuid "
	  "loop/backing_file loop/dio",
	  .phases = B, .max = 128 },
	{ "/sys/block/*", "md/degraded md/array_state", .phases = E, .max = 128 },
	{ "/sys/block/*/*", "partition dev", .phases = B, .max = 1024 },
	{ "/sys/class/scsi_host/*", "proc_name", .phases = B, .max = 128 },

	{ "/sys/class/net", "*", .phases = B },
	{ "/sys/class/net/*",
	  "mtu speed duplex operstate type device/driver device/vendor device/device "
	  "bonding/mode bonding/miimon bonding/arp_interval bonding/slaves",
	  .phases = B },
	{ ETHTOOL_FACTS, "links", .phases = B },
	{ "/sys/class/net/*/statistics",
	  "rx_bytes rx_packets rx_errors rx_dropped rx_missed_errors rx_over_errors rx_fifo_errors rx_crc_errors "
	  "tx_bytes tx_packets tx_errors tx_dropped tx_carrier_errors tx_fifo_errors collisions",
	  .phases = B | E },
	{ "/proc/net", "softnet_stat", .phases = B | E },

	{ "/proc/sys/vm",
	  "dirty_ratio dirty_background_ratio dirty_bytes dirty_background_bytes dirty_expire_centisecs "
	  "dirty_writeback_centisecs swappiness overcommit_memory overcommit_ratio nr_hugepages min_free_kbytes "
	  "zone_reclaim_mode max_map_count page-cluster vfs_cache_pressure watermark_scale_factor laptop_mode",
	  .phases = B },
	{ "/sys/module/zswap/parameters", "enabled", .phases = B },
	{ "/sys/module", "kvm", .phases = B | E }, /* loaded meanwhile? */
	{ "/sys/module/kvm/parameters", "halt_poll_ns", .phases = B },
	{ "/proc/sys/kernel",
	  "numa_balancing threads-max pid_max sched_rt_runtime_us sched_rt_period_us "
	  "sched_autogroup_enabled",
	  .phases = B },
	{ "/sys/kernel/debug/sched", "base_slice_ns min_granularity_ns wakeup_granularity_ns", .phases = B },
	{ "/proc/sys/fs", "nr_open aio-nr aio-max-nr leases-enable", .phases = B },
	{ "/sys/kernel", "rcu_normal", .phases = B },
	{ "/proc/sys/net/netfilter", "nf_conntrack_max", .phases = B },
	{ "/proc/sys/net/ipv4/neigh/default", "gc_thresh3", .phases = B },
	{ "/proc/sys/net/core",
	  "somaxconn rmem_max wmem_max rmem_default wmem_default netdev_max_backlog netdev_budget busy_read "
	  "busy_poll bpf_jit_enable",
	  .phases = B },
	{ "/proc/sys/net/ipv4",
	  "tcp_rmem tcp_wmem tcp_mem tcp_congestion_control tcp_slow_start_after_idle tcp_sack tcp_timestamps "
	  "tcp_window_scaling tcp_moderate_rcvbuf tcp_limit_output_bytes tcp_notsent_lowat tcp_ecn "
	  "ip_local_port_range",
	  .phases = B },
	{ "/sys/class/bdi/*", "max_ratio min_ratio strict_limit", .phases = B, .max = 128 },
	{ "/sys/kernel/mm/transparent_hugepage", "enabled defrag shmem_enabled khugepaged/defrag", .phases = B },
	{ "/sys/kernel/mm/ksm", "run pages_shared pages_sharing pages_to_scan", .phases = B },
	{ "/sys/kernel/mm/ksm", "pages_scanned full_scans", .phases = B | E },
	{ "/sys/devices/system/node/node*", "cpulist distance", .phases = B },
	{ "/sys/devices/system/node/node*", "meminfo numastat", .phases = B | E },
	{ "/proc/fs/nfsd", "threads", .phases = B },
	{ "/proc", "version", .phases = B },
	{ "/proc", "cmdline", .phases = B, .limit = 4096 },
	{ "/sys/kernel/tracing", "current_tracer set_event kprobe_events uprobe_events", .phases = B, .limit = 2048 },
	{ "/proc", "buddyinfo", .phases = B | E },
	{ "/proc", "interrupts", .phases = B | E, .limit = 32 * 1024 },
	{ "/proc", "locks", .phases = E, .limit = 32 * 1024 },
};

const size_t host_rules_count = sizeof(host_rules) / sizeof(host_rules[0]);
