// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "window/budget.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "tables/request_sample.h"
#include "window/budget_choice.h"
#include "perfdiag.skel.h"

#define PARTS_PER_MILLION 1000000
#define LEAST_TARGET 10	   /* a target that hardly runs counts as one that uses one part in so many of a CPU */
#define LOOKS 2		   /* intervals that are judged together: one may be out of the ordinary */
#define SETTLED 4	   /* looks after a step, until what is left is known well enough to lose all of it */
#define THINNEST_STACKS 16 /* some 16 a second of a running thread */
#define MOST_STEPS 32	   /* that are written: each feature can be thinned and given up a few times */

struct costs {
	uint64_t at_ns, target_ns; /* the CPU time of the target */
	uint64_t met, requests;	   /* connections that may be left out, and requests there */
	uint64_t ns[TIMED_PROGRAMS];
};

struct share {
	uint64_t ns, of_ns;
};

static struct costs before;
static struct share since_step, requests_thicker; /* what they took before they were thinned last */
static uint32_t one_of[OPTIONAL_FEATURES], steps, looks, looks_since_step;
static struct {
	struct budget_step step;
	uint64_t at_ns; /* 0: none waits for its effect to be known */
	uint64_t requests_per_second;
	struct share was;
} last;

static int read_costs(struct recorder *recorder, struct costs *ret)
{
	int fd = bpf_map__fd(recorder->skeleton->maps.own_costs), cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct own_cost *values = calloc(cpus > 0 ? cpus : 1, sizeof(*values));

	ret->requests = 0;
	for (__u32 program = 0; program < TIMED_PROGRAMS; program++) {
		if (!values || bpf_map_lookup_elem(fd, &program, values))
			return -1;
		ret->ns[program] = 0;
		for (int cpu = 0; cpu < cpus; cpu++) {
			ret->ns[program] += values[cpu].ns * timed_each(program);
			ret->requests += values[cpu].requests;
		}
		/* Whoever lost its CPU while it read the clock takes more off than its run took. */
		if ((int64_t)ret->ns[program] < 0)
			ret->ns[program] = 0;
	}
	ret->at_ns = now_ns();
	ret->target_ns = recorder->ran_ns;
	ret->met = recorder->skeleton->bss->inside.may_be_left_out;
	return 0;
}

static void describe_features(struct recorder *recorder, const struct costs *took, uint64_t of_ns,
			      struct budget_look *look)
{
	const struct knobs *knobs = &recorder->skeleton->bss->knobs;
	struct optional_cost *features = look->features;

	for (int i = 0; i < OPTIONAL_FEATURES; i++)
		features[i].one_of = one_of[i];
	features[OPTIONAL_FAILED_CALLS].ns = took->ns[TIMED_FAILED_CALL];
	if (!probes_watch_failed_calls(recorder))
		features[OPTIONAL_FAILED_CALLS].one_of = 0;
	features[OPTIONAL_STACKS].ns = took->ns[TIMED_TICK];
	features[OPTIONAL_STACKS].most_one_of = THINNEST_STACKS;
	features[OPTIONAL_PEERS].one_of = knobs->follows_peers && recorder->skeleton->bss->peer_threads;
	features[OPTIONAL_PEERS].unknown = true;
	features[OPTIONAL_REQUESTS].one_of = knobs->window_open ? request_sample_one_of() : 0;
	features[OPTIONAL_REQUESTS].ns =
		took->ns[TIMED_RECEIVED] + took->ns[TIMED_SENT] + took->ns[TIMED_READABLE] + took->ns[TIMED_ROOM];
	if (knobs->window_open)
		features[OPTIONAL_REQUESTS].most_one_of = request_sample_most(recorder, took->met);
	if (requests_thicker.of_ns)
		features[OPTIONAL_REQUESTS].thicker_ns = (double)requests_thicker.ns * of_ns / requests_thicker.of_ns;
}

static void take_step(struct recorder *recorder, const struct budget_step *step)
{
	one_of[step->feature] = step->one_of;
	switch (step->feature) {
	case OPTIONAL_FAILED_CALLS: probes_end_failed_calls(recorder); break;
	case OPTIONAL_STACKS: knobs_thin_stacks(recorder, step->one_of); break;
	case OPTIONAL_PEERS: probes_end_peers(recorder); break;
	case OPTIONAL_REQUESTS:
		if (step->one_of)
			request_sample_thin(recorder, step->one_of);
		else
			request_sample_end(recorder);
		break;
	case OPTIONAL_FEATURES: break;
	}
}

static void write_step(struct recorder *recorder, const struct share *now)
{
	static const char *const names[] = { "failed_calls", "stacks", "peers", "requests" };
	struct json *json = &recorder->json;

	if (!last.at_ns)
		return;
	json_open(json, "given_up");
	json_u64(json, "at_ns", last.at_ns);
	json_text(json, "feature", names[last.step.feature]);
	json_u64(json, "one_of", last.step.one_of);
	if (last.step.by_rate)
		json_u64(json, "per_second", last.requests_per_second);
	json_u64(json, "cost_ns", last.was.ns);
	json_u64(json, "of_ns", last.was.of_ns);
	if (now) {
		json_u64(json, "cost_after_ns", now->ns);
		json_u64(json, "of_after_ns", now->of_ns);
	}
	json_write(json, &recorder->output);
	last.at_ns = 0;
}

void budget_begin(struct recorder *recorder)
{
	for (int i = 0; i < OPTIONAL_FEATURES; i++)
		one_of[i] = i == OPTIONAL_FAILED_CALLS || i == OPTIONAL_STACKS;
	read_costs(recorder, &before);
}

/* What was taken since the last time, of how much; false: nobody knows. */
static bool measure(struct recorder *recorder, struct costs *took, struct share *share)
{
	struct costs now;

	if (read_costs(recorder, &now))
		return false;
	took->target_ns = now.target_ns > before.target_ns ? now.target_ns - before.target_ns : 0;
	took->met = now.met - before.met;
	took->requests = now.requests > before.requests ? now.requests - before.requests : 0;
	took->at_ns = now.at_ns - before.at_ns;
	*share = (struct share){ .of_ns = (now.at_ns - before.at_ns) / LEAST_TARGET };
	if (took->target_ns > share->of_ns)
		share->of_ns = took->target_ns;
	for (int i = 0; i < TIMED_PROGRAMS; i++) {
		took->ns[i] = now.ns[i] > before.ns[i] ? now.ns[i] - before.ns[i] : 0;
		share->ns += took->ns[i];
	}
	before = now;
	since_step.ns += share->ns;
	since_step.of_ns += share->of_ns;
	return true;
}

static uint64_t allowed_of(const struct recorder *recorder, uint64_t ns)
{
	return (double)ns * recorder->options.max_cost_ppm / PARTS_PER_MILLION;
}

void budget_look(struct recorder *recorder)
{
	struct budget_look look = {};
	struct costs took;
	struct share share;

	/* A snapshot that was torn does not tell what the target has used. */
	if (!recorder->options.has_max_cost || recorder->ran_at_ns < before.at_ns || ++looks % LOOKS ||
	    !measure(recorder, &took, &share))
		return;
	write_step(recorder, &share);
	look.cost_ns = share.ns;
	look.allowed_ns = allowed_of(recorder, share.of_ns);
	if (++looks_since_step >= SETTLED) {
		look.settled_cost_ns = since_step.ns;
		look.settled_allowed_ns = allowed_of(recorder, since_step.of_ns);
	}
	look.requests_per_second = took.requests * NS_PER_SECOND / (took.at_ns ?: 1);
	/* To count connections takes a walk over them. */
	if (look.cost_ns > look.allowed_ns || look.requests_per_second > MOST_REQUESTS)
		describe_features(recorder, &took, share.of_ns, &look);
	if (recorder->options.max_cost_ppm == PARTS_PER_MILLION || steps == MOST_STEPS ||
	    !budget_choose(&look, &last.step))
		return;
	steps++;
	last.at_ns = now_ns();
	last.was = share;
	last.requests_per_second = look.requests_per_second;
	since_step = (struct share){};
	looks_since_step = 0;
	if (last.step.feature == OPTIONAL_REQUESTS)
		requests_thicker = (struct share){ look.features[OPTIONAL_REQUESTS].ns, share.of_ns };
	take_step(recorder, &last.step);
}

void budget_end(struct recorder *recorder)
{
	struct costs took;
	struct share share;

	write_step(recorder, NULL);
	measure(recorder, &took, &share);
}

void budget_write(struct recorder *recorder)
{
	struct json *json = &recorder->json;

	if (!recorder->options.has_max_cost || !since_step.of_ns)
		return;
	json_u64(json, "kept_ns", since_step.ns);
	json_u64(json, "kept_of_ns", since_step.of_ns);
}
