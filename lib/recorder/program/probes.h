/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF programs and the state of each; shared by the files of this folder. */
#pragma once
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "recorder.h"

enum probe_stage { PROBE_LOADED, PROBE_ATTACHED };

typedef const char *probe_need(struct recorder *recorder, enum probe_stage stage);

struct probe {
	const char *name, *feature; /* what is lost without it */
	bool required;
	const char *module; /* that has its hook; NULL: the kernel itself */
	probe_need *need;   /* what asks for it; NULL: any recording */
};

struct probe_state {
	const struct probe *probe;
	struct bpf_program *program;
	struct bpf_link *link;
	bool wanted;
	bool refused;	      /* by the verifier */
	bool attached_by_app; /* to programs of the target: apps/statements.c has its links */
	char reason[160];
	struct bpf_prog_info before, after; /* statistics around the time they were on */
};

static inline bool probe_is_on(const struct probe_state *state)
{
	return state->link || state->attached_by_app;
}

size_t probes_count(void);
struct probe_state *probes_create(void);
struct probe_state *probe_state_of(const struct recorder *recorder, const struct bpf_program *program);
bool probe_is_iterator(const struct probe_state *state);
bool probe_is_called(const struct probe_state *state);
bool probe_is_in_programs(const struct probe_state *state); /* its place is in a program of the target */
bool probe_may_be_needed(struct recorder *recorder, const struct probe_state *state);

/* probe_needs.c: NULL where a recording needs a program loaded, or attached; else why not. */
#define NOT_MISSED "" /* a reason of which nothing is to be told */

probe_need needs_both_ways, needs_functions, needs_frequency, needs_clock_events, needs_tick, needs_slo, needs_guests,
	needs_host, needs_one_target, needs_group, needs_apps;
void probes_forgive_tracepoints(struct recorder *recorder); /* nobody misses those that needs_functions() replaces */

void knobs_fill(struct recorder *recorder); /* knobs.c: before programs are attached */

#define OWN_PROGRAM "perfdiag:"			    /* how the names of their code begin */
int program_symbols_add(struct recorder *recorder); /* program_symbols.c: after they are loaded; 0 or -errno */

/* tables/cycle_counters.c: the CPUs' counters of cycles */
bool clock_events_exist(void);
int clock_events_open(struct recorder *recorder); /* for cpu/cpu_clock.bpf.c; 0 or -errno */
