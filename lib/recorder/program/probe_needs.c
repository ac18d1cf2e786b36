// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which BPF programs a recording asks for.  Asked twice: before they are loaded, when the unprivileged side has not told
 * yet what to follow, and before they are attached.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "program/probes.h"
#include "perfdiag.skel.h"

/* No driver, nobody who could set a clock. */
const char *needs_frequency(struct recorder *recorder, enum probe_stage stage)
{
	(void)stage;
	return recorder->options.check || !access("/sys/devices/system/cpu/cpufreq/policy0", F_OK) ? NULL : NOT_MISSED;
}

/* Most guests have none: that is no news but for who asks. */
const char *needs_clock_events(struct recorder *recorder, enum probe_stage stage)
{
	static char reason[128];
	int err = -ENOENT;

	if (!clock_events_exist())
		return recorder->options.check
			       ? "the msr events aperf and mperf are not there (no CPU counters in a guest)"
			       : NOT_MISSED;
	if (stage == PROBE_LOADED)
		return NULL;
	if (recorder->skeleton->bss->knobs.tick_function)
		err = clock_events_open(recorder);
	snprintf(reason, sizeof(reason), "the msr events aperf and mperf cannot be opened: %s", strerror(-err));
	return err ? reason : NULL;
}

const char *needs_tick(struct recorder *recorder, enum probe_stage stage)
{
	return stage == PROBE_LOADED || recorder->skeleton->bss->knobs.tick_function
		       ? NULL
		       : "the tick's timer is not in /proc/kallsyms";
}

const char *needs_slo(struct recorder *recorder, enum probe_stage stage)
{
	const struct options *options = &recorder->options;

	if (stage == PROBE_LOADED || options->slo_ns || limits_of_calls(options) || options->check)
		return NULL;
	return options->limit_count ? "--slo names requests only; it would run at every system call of the host"
				    : "measured only with --slo, as it runs at every system call of the host";
}

/*
 * Without the device nobody here runs guests, whatever is built into the kernel.  A guest that is seen being entered and
 * never left, or the other way round, would be that all along: then the kernel's ticks tell its time.
 */
const char *needs_guests(struct recorder *recorder, enum probe_stage stage)
{
	if (access("/dev/kvm", F_OK))
		return "there is no /dev/kvm: no guests, or a container without it";
	if (stage == PROBE_ATTACHED && (bpf_program__fd(recorder->skeleton->progs.kvm_entry) < 0 ||
					bpf_program__fd(recorder->skeleton->progs.kvm_exit) < 0))
		return "entries into guests and exits are not both seen";
	return NULL;
}

/* It was refused, or could not be attached; not: the kernel has no such hook. */
static bool has_failed(const struct probe_state *state)
{
	return state && (state->refused || (bpf_program__fd(state->program) >= 0 && state->reason[0]));
}

/* NULL if either program is loaded and did not fail to attach. */
static const char *lack_of_either(const struct recorder *recorder, const struct bpf_program *one,
				  const struct bpf_program *other)
{
	const struct probe_state *states[] = { probe_state_of(recorder, one),
					       other ? probe_state_of(recorder, other) : NULL };
	static char reason[128];

	for (size_t i = 0; i < 2; i++) {
		const struct probe_state *state = states[i];

		if (state && bpf_program__fd(state->program) >= 0 && !state->reason[0])
			return NULL;
		if (has_failed(state)) {
			snprintf(reason, sizeof(reason), "the kernel refused another program of it: %s",
				 state->probe->name);
			return reason;
		}
	}
	return "this kernel does not show what sockets send and receive";
}

/* What is received is a request, or an answer, only where it is also seen what is sent, and when it came in. */
const char *needs_both_ways(struct recorder *recorder, enum probe_stage stage)
{
	const struct perfdiag *skeleton = recorder->skeleton;
	const struct bpf_program *programs[][2] = {
		{ skeleton->progs.sock_recv_length, skeleton->progs.inet_recvmsg },
		{ skeleton->progs.sock_send_length, skeleton->progs.inet_sendmsg },
		{ skeleton->progs.sk_data_ready, skeleton->progs.sock_def_readable },
		{ skeleton->progs.inet_sock_set_state },
		{ skeleton->progs.end_exchanges },
		{ skeleton->progs.tcp_probe },
	};
	const char *reason = NULL;

	if (stage == PROBE_LOADED)
		return NULL;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs) && !reason; i++)
		reason = lack_of_either(recorder, programs[i][0], programs[i][1]);
	return reason;
}

/* The functions that a tracepoint of Linux 6.3 was put into, where that is not there. */
const char *needs_functions(struct recorder *recorder, enum probe_stage stage)
{
	/* It stands before them all in the table, so that it is known here whether there is one. */
	const struct probe_state *tracepoint = probe_state_of(recorder, recorder->skeleton->progs.sk_data_ready);
	const struct bpf_program *senders[] = { recorder->skeleton->progs.inet_sendmsg,
						recorder->skeleton->progs.inet6_sendmsg,
						recorder->skeleton->progs.unix_stream_sendmsg };

	if (stage == PROBE_LOADED)
		return tracepoint && !tracepoint->wanted ? NULL : NOT_MISSED;
	if (bpf_program__fd(recorder->skeleton->progs.inet_recvmsg) < 0)
		return NOT_MISSED;
	/* Requests that are seen coming, and never answered, would be worse than none. */
	for (size_t i = 0; i < sizeof(senders) / sizeof(*senders); i++)
		if (has_failed(probe_state_of(recorder, senders[i])))
			return "the kernel refused another program of it";
	return needs_both_ways(recorder, stage);
}

void probes_forgive_tracepoints(struct recorder *recorder)
{
	const struct bpf_program *replaced[] = { recorder->skeleton->progs.sock_recv_length,
						 recorder->skeleton->progs.sock_send_length,
						 recorder->skeleton->progs.sk_data_ready };

	for (size_t i = 0; i < sizeof(replaced) / sizeof(*replaced); i++)
		probe_state_of(recorder, replaced[i])->reason[0] = '\0';
}

/* Who is told what to follow may be told to follow all, or a group. */
static bool may_be_told(const struct recorder *recorder, enum probe_stage stage)
{
	return recorder->options.check || (stage == PROBE_LOADED && recorder->options.control_fd >= 0);
}

const char *needs_host(struct recorder *recorder, enum probe_stage stage)
{
	return recorder->options.host || may_be_told(recorder, stage) ? NULL : NOT_MISSED;
}

/* Of a whole host they would be those of everybody, at a cost for everybody. */
const char *needs_one_target(struct recorder *recorder, enum probe_stage stage)
{
	(void)stage;
	return recorder->options.host ? NOT_MISSED : NULL;
}

/* Which servers are in the target is known when their programs have been looked at: apps/apps.c attaches them. */
const char *needs_apps(struct recorder *recorder, enum probe_stage stage)
{
	(void)stage;
	return recorder->options.no_apps ? NOT_MISSED : NULL;
}

const char *needs_group(struct recorder *recorder, enum probe_stage stage)
{
	return recorder->options.group.id || may_be_told(recorder, stage) ? NULL : NOT_MISSED;
}
