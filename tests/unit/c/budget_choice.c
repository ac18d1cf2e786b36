// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: window/budget_choice.c */
/* What is given up to keep a budget: the dearest first, no more than has to be, and always an end. */
#include <stdlib.h>
#include "window/budget_choice.h"
#include "check.h"

#define PERCENT 10000ULL /* of a cost, in the same unit */

static struct budget_step step;

static struct budget_look costing(uint64_t failed_calls, uint64_t stacks, uint64_t requests, uint64_t ledger)
{
	return (struct budget_look){
		.cost_ns = failed_calls + stacks + requests + ledger,
		.allowed_ns = 5 * PERCENT,
		.settled_cost_ns = failed_calls + stacks + requests + ledger,
		.settled_allowed_ns = 5 * PERCENT,
		.features = { [OPTIONAL_FAILED_CALLS] = { .one_of = 1, .ns = failed_calls },
			      [OPTIONAL_STACKS] = { .one_of = 1, .most_one_of = 16, .ns = stacks },
			      [OPTIONAL_PEERS] = { .one_of = 1, .unknown = true },
			      [OPTIONAL_REQUESTS] = { .one_of = 1, .most_one_of = 8, .ns = requests } },
	};
}

static void check_step(const struct budget_look *look, enum optional_feature feature, uint32_t one_of)
{
	CHECK(budget_choose(look, &step));
	CHECK_NUMBER(step.feature, feature);
	CHECK_NUMBER(step.one_of, one_of);
}

static void nothing_is_given_up_within_the_budget(void)
{
	struct budget_look look = costing(PERCENT, PERCENT, PERCENT, 2 * PERCENT);

	CHECK(!budget_choose(&look, &step));
	look.features[OPTIONAL_REQUESTS].ns = ++look.cost_ns - look.allowed_ns;
	CHECK(budget_choose(&look, &step));
}

static void the_dearest_goes_first(void)
{
	struct budget_look look = costing(3 * PERCENT, 2 * PERCENT, PERCENT, PERCENT);

	check_step(&look, OPTIONAL_FAILED_CALLS, 0);
	look = costing(PERCENT, PERCENT / 2, 9 * PERCENT, PERCENT);
	check_step(&look, OPTIONAL_REQUESTS, 4);
}

static void no_more_is_thinned_than_has_to_be(void)
{
	struct budget_look look = costing(0, 0, 4 * PERCENT, 2 * PERCENT);

	check_step(&look, OPTIONAL_REQUESTS, 2);
	look = costing(0, 0, 400 * PERCENT, 2 * PERCENT);
	check_step(&look, OPTIONAL_REQUESTS, 8);
}

static void what_costs_little_stays(void)
{
	struct budget_look look = costing(PERCENT / 8, PERCENT / 8, 0, 20 * PERCENT);

	look.features[OPTIONAL_PEERS].one_of = 0;
	CHECK(!budget_choose(&look, &step));
	look.allowed_ns = 0;
	CHECK(budget_choose(&look, &step));
}

static void requests_as_a_whole_go_last(void)
{
	struct budget_look look = costing(PERCENT, 0, 9 * PERCENT, 9 * PERCENT);

	look.features[OPTIONAL_REQUESTS].one_of = 8;
	check_step(&look, OPTIONAL_FAILED_CALLS, 0);
	look.features[OPTIONAL_FAILED_CALLS].one_of = 0;
	check_step(&look, OPTIONAL_PEERS, 0);
	look.features[OPTIONAL_PEERS].one_of = 0;
	check_step(&look, OPTIONAL_REQUESTS, 0);
	look.features[OPTIONAL_REQUESTS].one_of = 0;
	CHECK(!budget_choose(&look, &step)); /* the ledger is never asked for */
}

/* Most requests are at a unix socket: none of those is left out. */
static void thinning_in_vain_does_not_go_on(void)
{
	struct budget_look look = costing(0, 0, 9 * PERCENT, PERCENT);

	look.features[OPTIONAL_PEERS].one_of = 0;
	look.features[OPTIONAL_REQUESTS].one_of = 2;
	look.features[OPTIONAL_REQUESTS].thicker_ns = 18 * PERCENT;
	check_step(&look, OPTIONAL_REQUESTS, 8);
	look.features[OPTIONAL_REQUESTS].thicker_ns = 9 * PERCENT + PERCENT / 2;
	check_step(&look, OPTIONAL_REQUESTS, 0);
}

static void a_sample_that_nearly_keeps_the_budget_stays(void)
{
	struct budget_look look = costing(0, 0, 3 * PERCENT, 3 * PERCENT);

	look.features[OPTIONAL_PEERS].one_of = 0;
	look.features[OPTIONAL_REQUESTS].one_of = 8;
	CHECK(!budget_choose(&look, &step));
	look.cost_ns += 9 * PERCENT;
	CHECK(!budget_choose(&look, &step)); /* for a moment */
	look.settled_cost_ns += PERCENT;
	check_step(&look, OPTIONAL_REQUESTS, 0);
}

static void requests_beyond_a_rate_are_thinned_whatever_they_cost(void)
{
	struct budget_look look = costing(0, 0, PERCENT, PERCENT);

	look.requests_per_second = MOST_REQUESTS;
	CHECK(!budget_choose(&look, &step));
	look.requests_per_second = 2 * MOST_REQUESTS + 2;
	check_step(&look, OPTIONAL_REQUESTS, 4);
	CHECK(step.by_rate);
	look.requests_per_second = 100 * MOST_REQUESTS;
	check_step(&look, OPTIONAL_REQUESTS, 8);
	look.features[OPTIONAL_REQUESTS].one_of = 8;
	CHECK(!budget_choose(&look, &step)); /* never as a whole */
	look.features[OPTIONAL_REQUESTS].one_of = 0;
	CHECK(!budget_choose(&look, &step));
	look = costing(0, 0, 8 * PERCENT, PERCENT);
	look.requests_per_second = 100 * MOST_REQUESTS;
	check_step(&look, OPTIONAL_REQUESTS, 2);
	CHECK(!step.by_rate);
}

/* As the recorder does: what is thinned takes as much less. */
static void take(struct budget_look *look)
{
	struct optional_cost *cost = &look->features[step.feature];
	uint64_t left = step.one_of ? cost->ns * cost->one_of / step.one_of : 0;

	CHECK(cost->one_of && (!step.one_of || step.one_of > cost->one_of)); /* never back */
	CHECK(step.one_of <= cost->most_one_of);
	look->cost_ns -= cost->ns - left;
	look->settled_cost_ns = look->cost_ns;
	cost->ns = left;
	cost->one_of = step.one_of;
}

static void whatever_it_costs_there_is_an_end(void)
{
	srandom(1);
	for (int round = 0; round < 20000; round++) {
		uint64_t scale = 1ULL << random() % 50, ledger = random() % scale;
		struct budget_look look = costing(random() % scale, random() % scale, random() % scale, ledger);
		uint64_t before = look.cost_ns;
		int steps = 0;

		look.allowed_ns = look.settled_allowed_ns = random() % 4 ? random() % scale : 0;
		look.features[OPTIONAL_REQUESTS].most_one_of = 1U << random() % 20;
		while (budget_choose(&look, &step) && ++steps < 100)
			take(&look);
		CHECK(steps < 2 + 5 + 21);
		CHECK(look.cost_ns >= ledger && look.cost_ns <= before);
		/* Only what costs little is left, or the budget is kept nearly. */
		CHECK(look.cost_ns <= look.allowed_ns + look.allowed_ns / 4 ||
		      look.cost_ns - ledger <= 3 * (look.allowed_ns / 20));
	}
}

int main(void)
{
	RUN(nothing_is_given_up_within_the_budget);
	RUN(the_dearest_goes_first);
	RUN(no_more_is_thinned_than_has_to_be);
	RUN(what_costs_little_stays);
	RUN(requests_as_a_whole_go_last);
	RUN(requests_beyond_a_rate_are_thinned_whatever_they_cost);
	RUN(thinning_in_vain_does_not_go_on);
	RUN(a_sample_that_nearly_keeps_the_budget_stays);
	RUN(whatever_it_costs_there_is_an_end);
	return check_result();
}
