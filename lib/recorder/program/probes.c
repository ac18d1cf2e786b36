// SPDX-License-Identifier: GPL-2.0-only
/* The table of BPF programs: what each is for, attached or why not. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/statements.h"
#include "program/probes.h"
#include "perfdiag.skel.h"

/*
 * The order is that of attaching: an end before its beginning, which would else stand alone; the switch last, it begins
 * the window.
 */
static const struct probe probes[] = {
	{ .name = "cpu_idle", .feature = "idle_state" },
	{ .name = "cpu_frequency", .feature = "clock", .need = needs_frequency },
	{ .name = "clock_tick", .feature = "clock_counters", .need = needs_clock_events },
	{ .name = "irq_handler_exit", .feature = "irq" },
	{ .name = "irq_handler_entry", .feature = "irq" },
	{ .name = "softirq_exit", .feature = "irq" },
	{ .name = "softirq_entry", .feature = "irq" },
	{ .name = "direct_reclaim_begin", .feature = "reclaim" },
	{ .name = "direct_reclaim_end", .feature = "reclaim" },
	{ .name = "cgroup_reclaim_begin", .feature = "reclaim" },
	{ .name = "cgroup_reclaim_end", .feature = "reclaim" },
	{ .name = "compaction_wanted", .feature = "compaction_order" },
	{ .name = "compaction_begin", .feature = "compaction" },
	{ .name = "compaction_end", .feature = "compaction" },
	{ .name = "balance_dirty_pages", .feature = "dirty_throttle" },
	{ .name = "filemap_fault", .feature = "fault_file" },
	{ .name = "page_added", .feature = "page_cache" },
	{ .name = "mark_victim", .feature = "oom" },
	{ .name = "block_rq_complete", .feature = "block" },
	{ .name = "block_bio_queue", .feature = "disk_users" },
	{ .name = "tcp_retransmit_skb", .feature = "tcp" },
	{ .name = "dropped_packet", .feature = "packet_drops" },
	{ .name = "end_exchanges", .feature = "requests" },
	{ .name = "thin_connections", .feature = "requests" },
	{ .name = "inet_sock_set_state", .feature = "requests", .need = needs_both_ways },
	{ .name = "tcp_probe", .feature = "requests", .need = needs_both_ways },
	{ .name = "sk_data_ready", .feature = "requests", .need = needs_both_ways },
	{ .name = "sock_def_readable", .feature = "requests", .need = needs_functions },
	{ .name = "sock_send_length", .feature = "requests", .need = needs_both_ways },
	{ .name = "unix_stream_sendmsg", .feature = "requests", .need = needs_functions },
	{ .name = "inet6_sendmsg", .feature = "requests", .need = needs_functions },
	{ .name = "inet_sendmsg", .feature = "requests", .need = needs_functions },
	{ .name = "sock_recv_length", .feature = "requests", .need = needs_both_ways },
	{ .name = "unix_stream_recvmsg", .feature = "requests", .need = needs_functions },
	{ .name = "inet6_recvmsg", .feature = "requests", .need = needs_functions },
	{ .name = "inet_recvmsg", .feature = "requests", .need = needs_functions },
	/* nfs and nfsd bring sunrpc along, whose hooks some of these are */
	{ .name = "rpc_ended", .feature = "nfs", .module = "nfs" },
	{ .name = "rpc_begun", .feature = "nfs", .module = "nfs" },
	{ .name = "rpc_client_gone", .feature = "nfs", .module = "nfs" },
	{ .name = "nfs_mount_met", .feature = "nfs", .module = "nfs" },
	{ .name = "nfs_commit_begun", .feature = "nfs", .module = "nfs" },
	{ .name = "nfs_write_begun", .feature = "nfs", .module = "nfs" },
	{ .name = "nfs_fsync_exit", .feature = "nfs", .module = "nfs" },
	{ .name = "nfs_fsync_enter", .feature = "nfs", .module = "nfs" },
	{ .name = "nfs_writeback_exit", .feature = "nfs", .module = "nfs" },
	{ .name = "nfs_writeback_enter", .feature = "nfs", .module = "nfs" },
	{ .name = "nfs_readahead", .feature = "nfs", .module = "nfs" },
	{ .name = "nfsd_answered", .feature = "nfsd", .module = "nfsd" },
	{ .name = "nfsd_operation", .feature = "nfsd", .module = "nfsd" },
	{ .name = "nfsd_compound", .feature = "nfsd", .module = "nfsd" },
	{ .name = "hrtimer_expire_exit", .feature = "stacks", .need = needs_tick },
	{ .name = "hrtimer_expire_entry", .feature = "stacks", .need = needs_tick },
	{ .name = "sys_exit", .feature = "operations", .need = needs_slo },
	{ .name = "failed_call", .feature = "failed_calls", .need = needs_one_target },
	{ .name = "failed_child", .feature = "failed_calls", .need = needs_one_target },
	{ .name = "child_ended", .feature = "failed_calls", .need = needs_one_target },
	{ .name = "host_waking", .feature = "host", .need = needs_host },
	{ .name = "group_made", .feature = "group", .need = needs_group },
	{ .name = "group_joined", .feature = "group", .need = needs_group },
	{ .name = "kvm_pio", .feature = "vm_device", .module = "kvm", .need = needs_guests },
	{ .name = "kvm_mmio", .feature = "vm_device", .module = "kvm", .need = needs_guests },
	{ .name = "kvm_fast_mmio", .feature = "vm_device", .module = "kvm", .need = needs_guests },
	{ .name = "kvm_vcpu_wakeup", .feature = "vm", .module = "kvm", .need = needs_guests },
	{ .name = "kvm_userspace_exit", .feature = "vm", .module = "kvm", .need = needs_guests },
	{ .name = "kvm_exit", .feature = "vm", .module = "kvm", .need = needs_guests },
	{ .name = "kvm_entry", .feature = "vm", .module = "kvm", .need = needs_guests },
	{ .name = "postgres_run", .feature = "statements", .need = needs_apps },
	{ .name = "postgres_activity", .feature = "statements", .need = needs_apps },
	{ .name = "mariadb_end", .feature = "statements", .need = needs_apps },
	{ .name = "mariadb_begin", .feature = "statements", .need = needs_apps },
	{ .name = "mysql_begin", .feature = "statements", .need = needs_apps },
	{ .name = "sched_process_fork", .feature = "ledger", .required = true },
	{ .name = "sched_process_exec", .feature = "ledger", .required = true },
	{ .name = "sched_waking", .feature = "ledger", .required = true },
	{ .name = "sched_switch", .feature = "ledger", .required = true },
	{ .name = "sweep", .feature = "ledger", .required = true },
	{ .name = "snapshot", .feature = "ledger", .required = true },
	{ .name = "gather_reasons", .feature = "chains" },
	{ .name = "meet_peers", .feature = "peers" },
	{ .name = "tell_left_unread", .feature = "requests", .need = needs_both_ways },
	{ .name = "copy_chains", .feature = "requests", .need = needs_both_ways },
};

#define PROBES (sizeof(probes) / sizeof(*probes))

size_t probes_count(void)
{
	return PROBES;
}

struct probe_state *probes_create(void)
{
	struct probe_state *states = calloc(PROBES, sizeof(*states));

	for (size_t i = 0; states && i < PROBES; i++)
		states[i].probe = &probes[i];
	return states;
}

struct probe_state *probe_state_of(const struct recorder *recorder, const struct bpf_program *program)
{
	for (size_t i = 0; i < PROBES; i++)
		if (recorder->probes[i].program == program)
			return &recorder->probes[i];
	return NULL;
}

/* NULL, or why it is not needed. */
static const char *not_needed(struct recorder *recorder, const struct probe_state *state, enum probe_stage stage)
{
	return state->probe->need ? state->probe->need(recorder, stage) : NULL;
}

/* Those that nobody will ask for are a tenth of the time to load. */
bool probe_may_be_needed(struct recorder *recorder, const struct probe_state *state)
{
	return !not_needed(recorder, state, PROBE_LOADED);
}

bool probe_is_iterator(const struct probe_state *state)
{
	return !strncmp(bpf_program__section_name(state->program), "iter/", 5);
}

/* It has no hook: user space runs it. */
bool probe_is_called(const struct probe_state *state)
{
	return bpf_program__type(state->program) == BPF_PROG_TYPE_SYSCALL;
}

bool probe_is_in_programs(const struct probe_state *state)
{
	const char *section = bpf_program__section_name(state->program);

	return !strcmp(section, "uprobe") || !strcmp(section, "uretprobe");
}

int probes_attach(struct recorder *recorder)
{
	knobs_fill(recorder);
	for (size_t i = 0; i < PROBES; i++) {
		struct probe_state *state = &recorder->probes[i];
		const char *reason;
		int err;

		if (!state->wanted || probe_is_called(state) || probe_is_in_programs(state))
			continue;
		reason = not_needed(recorder, state, PROBE_ATTACHED);
		if (reason) {
			snprintf(state->reason, sizeof(state->reason), "%s", reason);
			state->wanted = false;
			continue;
		}
		if (state->probe->need == needs_functions)
			probes_forgive_tracepoints(recorder);
		state->link = probe_is_iterator(state) ? bpf_program__attach_iter(state->program, NULL)
						       : bpf_program__attach(state->program);
		if (state->program == recorder->skeleton->progs.kvm_entry)
			recorder->skeleton->bss->knobs.sees_guests = state->link != NULL; /* no switch is seen yet */
		if (state->program == recorder->skeleton->progs.sock_recv_length ||
		    state->program == recorder->skeleton->progs.inet_recvmsg)
			recorder->skeleton->bss->knobs.sees_requests = state->link != NULL;
		if (state->program == recorder->skeleton->progs.failed_call)
			recorder->skeleton->bss->knobs.sees_failures = state->link != NULL;
		if (state->program == recorder->skeleton->progs.meet_peers)
			recorder->skeleton->bss->knobs.follows_peers = state->link && !recorder->options.host &&
								       !recorder->options.only;
		if (state->link)
			continue;
		err = -errno;
		snprintf(state->reason, sizeof(state->reason), "cannot be attached: %s", strerror(-err));
		state->wanted = false;
		if (state->probe->required) {
			fprintf(stderr, "error: %s %s\n", state->probe->name, state->reason);
			return err;
		}
	}
	return 0;
}

static void write_probe(struct json *json, const struct probe *probe, const char *hook, bool attached,
			const char *reason)
{
	json_object(json, NULL);
	json_text(json, "name", probe->name);
	json_text(json, "hook", hook);
	json_text(json, "feature", probe->feature);
	json_bool(json, "attached", attached);
	json_text(json, "reason", attached ? NULL : reason);
	json_end(json);
}

/* Programs, and what some kernels are built without. */
void probes_write(struct recorder *recorder)
{
	static const struct probe steal = { .name = "steal_clock", .feature = "steal" };
	static const struct probe throttle = { .name = "throttled_clock", .feature = "throttle" };
	static const struct probe storage = { .name = "storage_anywhere", .feature = "host" };
	const struct knobs *knobs = &recorder->skeleton->bss->knobs;
	struct json *json = &recorder->json;

	json_array(json, "probes");
	for (size_t i = 0; i < PROBES; i++) {
		const struct probe_state *state = &recorder->probes[i];
		const char *hook = state->program ? bpf_program__section_name(state->program) : "";

		if (probe_is_on(state) || state->reason[0])
			write_probe(json, state->probe, hook, probe_is_on(state), state->reason);
	}
	write_probe(json, &steal, "field of struct rq", knobs->has_steal_clock,
		    "the kernel has no CONFIG_PARAVIRT_TIME_ACCOUNTING");
	write_probe(json, &throttle, "field of struct cfs_rq", knobs->has_throttled_clock,
		    "the kernel has no CONFIG_CFS_BANDWIDTH");
	if (knobs->host)
		write_probe(json, &storage, "field of struct bpf_local_storage_map", !knobs->meets_later,
			    "before Linux 6.4 storage for a task may wait for a lock: who slept is met some ms after it"
			    " woke up");
	json_end(json);
}

void probes_detach(struct recorder *recorder)
{
	statements_detach();
	for (size_t i = 0; recorder->probes && i < PROBES; i++)
		bpf_link__destroy(recorder->probes[i].link);
	free(recorder->probes);
	recorder->probes = NULL;
	perfdiag__destroy(recorder->skeleton);
	recorder->skeleton = NULL;
}
