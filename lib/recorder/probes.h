/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF programs and the state of each; shared by load.c, probes.c (attaches, reads) and cost.c. */
#pragma once
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "recorder.h"

struct probe_state {
	const char *name, *feature; /* what is lost without it */
	bool required;
	const char *module; /* that has its hook; NULL: the kernel itself */
	struct bpf_program *program;
	struct bpf_link *link;
	bool wanted;
	char reason[160];
	struct bpf_prog_info before, after; /* statistics around the time they were on */
};

size_t probes_count(void);
struct probe_state *probes_create(void);
bool probe_is_iterator(const struct probe_state *state);
bool probe_may_be_needed(const struct recorder *recorder, const char *name);

/* clock_events.c: the CPUs' counters of cycles */
bool clock_events_exist(void);
int clock_events_open(struct recorder *recorder); /* for clock.bpf.c; 0 or -errno */
