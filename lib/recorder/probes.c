// SPDX-License-Identifier: GPL-2.0-only
/* The table of BPF programs: what each is for, attached or why not, and the iterators that are read. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cleanup.h"
#include "probes.h"
#include "perfdiag.skel.h"

#define TICK_NS 4000000ULL	    /* as most distributions have it */
#define HOST_CPU_SAMPLES 1000	    /* a second, at most, of all CPUs of a host */
#define STACK_PERIOD_NS 20000000ULL /* a thread that always waits gives 50 stacks a second, then they thin out */

/*
 * What is lost without a program, and what asks for it (NULL: any recording).  The order is that of attaching: an end
 * before its beginning, which would else stand alone; the switch last, it begins the window.
 */
static const struct probe {
	const char *name, *feature;
	bool required;
	const char *module; /* that has its hook; NULL: the kernel itself */
	probe_need *need;
} probes[] = {
	{ "cpu_idle", "idle_state", false, NULL, NULL },
	{ "cpu_frequency", "clock", false, NULL, needs_frequency },
	{ "clock_tick", "clock_counters", false, NULL, needs_clock_events },
	{ "irq_handler_exit", "irq", false, NULL, NULL },
	{ "irq_handler_entry", "irq", false, NULL, NULL },
	{ "softirq_exit", "irq", false, NULL, NULL },
	{ "softirq_entry", "irq", false, NULL, NULL },
	{ "direct_reclaim_begin", "reclaim", false, NULL, NULL },
	{ "direct_reclaim_end", "reclaim", false, NULL, NULL },
	{ "cgroup_reclaim_begin", "reclaim", false, NULL, NULL },
	{ "cgroup_reclaim_end", "reclaim", false, NULL, NULL },
	{ "compaction_wanted", "compaction_order", false, NULL, NULL },
	{ "compaction_begin", "compaction", false, NULL, NULL },
	{ "compaction_end", "compaction", false, NULL, NULL },
	{ "balance_dirty_pages", "dirty_throttle", false, NULL, NULL },
	{ "filemap_fault", "fault_file", false, NULL, NULL },
	{ "page_added", "page_cache", false, NULL, NULL },
	{ "mark_victim", "oom", false, NULL, NULL },
	{ "block_rq_complete", "block", false, NULL, NULL },
	{ "tcp_retransmit_skb", "tcp", false, NULL, NULL },
	{ "rpc_ended", "nfs", false, "nfs", NULL }, /* hooks of sunrpc, which nfs and nfsd bring along */
	{ "rpc_begun", "nfs", false, "nfs", NULL },
	{ "nfs_mount_met", "nfs", false, "nfs", NULL },
	{ "nfs_commit_begun", "nfs", false, "nfs", NULL },
	{ "nfs_write_begun", "nfs", false, "nfs", NULL },
	{ "nfs_fsync_exit", "nfs", false, "nfs", NULL },
	{ "nfs_fsync_enter", "nfs", false, "nfs", NULL },
	{ "nfs_writeback_exit", "nfs", false, "nfs", NULL },
	{ "nfs_writeback_enter", "nfs", false, "nfs", NULL },
	{ "nfs_readahead", "nfs", false, "nfs", NULL },
	{ "nfsd_answered", "nfsd", false, "nfsd", NULL },
	{ "nfsd_operation", "nfsd", false, "nfsd", NULL },
	{ "nfsd_compound", "nfsd", false, "nfsd", NULL },
	{ "hrtimer_expire_exit", "stacks", false, NULL, needs_tick },
	{ "hrtimer_expire_entry", "stacks", false, NULL, needs_tick },
	{ "sys_exit", "operations", false, NULL, needs_slo },
	{ "host_waking", "host", false, NULL, needs_host },
	{ "group_made", "group", false, NULL, needs_group },
	{ "group_joined", "group", false, NULL, needs_group },
	{ "kvm_pio", "vm_device", false, "kvm", needs_guests },
	{ "kvm_mmio", "vm_device", false, "kvm", needs_guests },
	{ "kvm_fast_mmio", "vm_device", false, "kvm", needs_guests },
	{ "kvm_vcpu_wakeup", "vm", false, "kvm", needs_guests },
	{ "kvm_userspace_exit", "vm", false, "kvm", needs_guests },
	{ "kvm_exit", "vm", false, "kvm", needs_guests },
	{ "kvm_entry", "vm", false, "kvm", needs_guests },
	{ "sched_process_fork", "ledger", true, NULL, NULL },
	{ "sched_process_exec", "ledger", true, NULL, NULL },
	{ "sched_waking", "ledger", true, NULL, NULL },
	{ "sched_switch", "ledger", true, NULL, NULL },
	{ "sweep", "ledger", true, NULL, NULL },
	{ "snapshot", "ledger", true, NULL, NULL },
};

#define PROBES (sizeof(probes) / sizeof(*probes))

size_t probes_count(void)
{
	return PROBES;
}

struct probe_state *probes_create(void)
{
	struct probe_state *states = calloc(PROBES, sizeof(*states));

	for (size_t i = 0; states && i < PROBES; i++) {
		states[i].name = probes[i].name;
		states[i].feature = probes[i].feature;
		states[i].required = probes[i].required;
		states[i].module = probes[i].module;
	}
	return states;
}

/* NULL, or why it is not needed. */
static const char *not_needed(struct recorder *recorder, const struct probe_state *state, enum probe_stage stage)
{
	probe_need *need = probes[state - recorder->probes].need;

	return need ? need(recorder, stage) : NULL;
}

/* Those that nobody will ask for are a tenth of the time to load. */
bool probe_may_be_needed(struct recorder *recorder, const struct probe_state *state)
{
	return !not_needed(recorder, state, PROBE_LOADED);
}

/*
 * This clock advances once a tick.  Not from the kernel's configuration: where that cannot be read (no /boot in a
 * container, no /proc/config.gz), libbpf loads nothing at all that asks for it.
 */
uint64_t probes_tick_ns(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec || !tick.tv_nsec)
		return TICK_NS;
	return tick.tv_nsec;
}

static void fill_knobs(struct recorder *recorder)
{
	struct knobs *knobs = &recorder->skeleton->bss->knobs;
	const struct options *options = &recorder->options;
	uint64_t start, end;

	knobs->descendants = !options->only;
	knobs->group = options->group;
	knobs->all_stacks = options->stacks;
	knobs->slo_ns = options->slo_ns;
	knobs->stack_period_ns = STACK_PERIOD_NS;
	knobs->tick_ns = probes_tick_ns();
	if (options->host) {
		knobs->host = 1;
		knobs->left_out[0] = getpid();
		knobs->left_out[1] = options->control_fd >= 0 ? getppid() : 0;
		knobs->tick_stride =
			1 + NS_PER_SECOND / knobs->tick_ns * sysconf(_SC_NPROCESSORS_ONLN) / HOST_CPU_SAMPLES;
	}
	if (!recorder->symbols)
		return;
	memcpy(knobs->markers, recorder->markers, sizeof(knobs->markers));
	knobs->marker_count = recorder->marker_count;
	/*
	 * ffb7e01c4e65 ("tick/nohz: Remove ... tick_sched_timer") renamed it in v6.8.  Kernels before it have the other
	 * name, too, for another function: that of ticks without an hrtimer.
	 */
	if (!kernel_symbols_range(recorder->symbols, "tick_sched_timer", &start, &end) ||
	    !kernel_symbols_range(recorder->symbols, "tick_nohz_handler", &start, &end))
		knobs->tick_function = start;
}

bool probe_is_iterator(const struct probe_state *state)
{
	return !strncmp(bpf_program__section_name(state->program), "iter/", 5);
}

int probes_attach(struct recorder *recorder)
{
	fill_knobs(recorder);
	for (size_t i = 0; i < PROBES; i++) {
		struct probe_state *state = &recorder->probes[i];
		const char *reason;
		int err;

		if (!state->wanted)
			continue;
		reason = not_needed(recorder, state, PROBE_ATTACHED);
		if (reason) {
			snprintf(state->reason, sizeof(state->reason), "%s", reason);
			state->wanted = false;
			continue;
		}
		state->link = probe_is_iterator(state) ? bpf_program__attach_iter(state->program, NULL)
						       : bpf_program__attach(state->program);
		if (state->program == recorder->skeleton->progs.kvm_entry)
			recorder->skeleton->bss->knobs.sees_guests = state->link != NULL; /* no switch is seen yet */
		if (state->link)
			continue;
		err = -errno;
		snprintf(state->reason, sizeof(state->reason), "cannot be attached: %s", strerror(-err));
		state->wanted = false;
		if (state->required) {
			fprintf(stderr, "error: %s %s\n", state->name, state->reason);
			return err;
		}
	}
	return 0;
}

/* Many threads share one budget: about 800 stacks a second while all of them wait. */
void probes_pace_stacks(struct recorder *recorder)
{
	recorder->skeleton->bss->knobs.stack_period_ns = STACK_PERIOD_NS * (1 + recorder->living / 16);
}

/* Reads an iterator that writes nothing. */
int probes_sweep(struct recorder *recorder)
{
	struct perfdiag *skeleton = recorder->skeleton;
	char byte;

	/*
	 * Twice: a thread made during the first pass by one not yet met has no record from its fork.  (Of a host all
	 * have.)
	 */
	for (int pass = 0; pass < (recorder->options.host ? 1 : 2); pass++) {
		for (size_t i = 0; i < PROBES; i++) {
			_cleanup_close_ int fd = -1;

			if (recorder->probes[i].program != skeleton->progs.sweep)
				continue;
			fd = bpf_iter_create(bpf_link__fd(recorder->probes[i].link));
			if (fd < 0)
				return -errno;
			while (read(fd, &byte, 1) > 0)
				;
		}
	}
	return 0;
}

void probes_meet(struct recorder *recorder, pid_t tid)
{
	union bpf_iter_link_info one = { .task.tid = tid };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &one, .link_info_len = sizeof(one));
	struct bpf_link *link = bpf_program__attach_iter(recorder->skeleton->progs.sweep, &options);
	_cleanup_close_ int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	struct knobs *knobs = &recorder->skeleton->bss->knobs;
	char byte;

	knobs->meeting = 1;
	while (fd >= 0 && read(fd, &byte, 1) > 0)
		;
	knobs->meeting = 0;
	bpf_link__destroy(link);
	recorder->skeleton->bss->asked[tid % ASKED] = 0;
}

int probes_snapshot_fd(struct recorder *recorder)
{
	for (size_t i = 0; i < PROBES; i++)
		if (recorder->probes[i].program == recorder->skeleton->progs.snapshot)
			return bpf_iter_create(bpf_link__fd(recorder->probes[i].link));
	return -ENOENT;
}

static void write_probe(struct json *json, const struct probe_state *state, const char *hook, bool attached)
{
	json_object(json, NULL);
	json_text(json, "name", state->name);
	json_text(json, "hook", hook);
	json_text(json, "feature", state->feature);
	json_bool(json, "attached", attached);
	json_text(json, "reason", attached ? NULL : state->reason);
	json_end(json);
}

/* Programs, and two clocks of the kernel that some are built without. */
void probes_write(struct recorder *recorder)
{
	static const struct probe_state steal = { .name = "steal_clock",
						  .feature = "steal",
						  .reason = "the kernel has no CONFIG_PARAVIRT_TIME_ACCOUNTING" };
	static const struct probe_state throttle = { .name = "throttled_clock",
						     .feature = "throttle",
						     .reason = "the kernel has no CONFIG_CFS_BANDWIDTH" };
	static const struct probe_state storage = {
		.name = "storage_anywhere",
		.feature = "host",
		.reason =
			"before Linux 6.4 storage for a task may wait for a lock: who slept is met some ms after it woke up"
	};
	const struct knobs *knobs = &recorder->skeleton->bss->knobs;
	struct json *json = &recorder->json;

	json_array(json, "probes");
	for (size_t i = 0; i < PROBES; i++) {
		const struct probe_state *state = &recorder->probes[i];

		if (!state->link && !state->reason[0])
			continue;
		write_probe(json, state, state->program ? bpf_program__section_name(state->program) : "", state->link);
	}
	write_probe(json, &steal, "field of struct rq", knobs->has_steal_clock);
	write_probe(json, &throttle, "field of struct cfs_rq", knobs->has_throttled_clock);
	if (knobs->host)
		write_probe(json, &storage, "field of struct bpf_local_storage_map", !knobs->meets_later);
	json_end(json);
}

void probes_detach(struct recorder *recorder)
{
	for (size_t i = 0; recorder->probes && i < PROBES; i++)
		bpf_link__destroy(recorder->probes[i].link);
	free(recorder->probes);
	recorder->probes = NULL;
	perfdiag__destroy(recorder->skeleton);
	recorder->skeleton = NULL;
}
