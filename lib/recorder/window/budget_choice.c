// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a recording gives up, in this order: the dearest first; what the ledger's own programs do beside their books; and
 * last, where thinning did not do, requests as a whole, on which most of what is said of a server rests.
 */
#include "window/budget_choice.h"

#define WORTH 20 /* what takes less than one part in so many of the budget stays: its loss would win nothing */
#define LEAST_WON                                                                                                      \
	8 /* where thinning wins less than one part in so many, most of the work is of what is never left out */
#define LAST_RESORT 4 /* requests go as a whole only where the budget is passed for long, by one part in so many */

static bool can_be_thinned(const struct optional_cost *cost)
{
	bool in_vain = cost->thicker_ns && cost->ns > cost->thicker_ns - cost->thicker_ns / LEAST_WON;

	return cost->one_of < cost->most_one_of && !in_vain;
}

static bool is_last_resort(enum optional_feature feature, const struct optional_cost *cost)
{
	return feature == OPTIONAL_REQUESTS && !can_be_thinned(cost);
}

static bool is_worth_it(const struct budget_look *look, enum optional_feature feature, const struct optional_cost *cost)
{
	if (is_last_resort(feature, cost) &&
	    look->settled_cost_ns <= look->settled_allowed_ns + look->settled_allowed_ns / LAST_RESORT)
		return false;
	return cost->one_of && (cost->unknown || (cost->ns && cost->ns >= look->allowed_ns / WORTH));
}

/* The lower, the sooner. */
static int turn_of(enum optional_feature feature, const struct optional_cost *cost)
{
	if (is_last_resort(feature, cost))
		return 2;
	return cost->unknown;
}

/* The least thinning that wins `over_ns`, as far as it goes. */
static uint32_t thinned(const struct optional_cost *cost, uint64_t over_ns)
{
	uint32_t one_of = cost->one_of;

	if (!can_be_thinned(cost))
		return 0;
	do
		one_of *= 2;
	while (one_of < cost->most_one_of && cost->ns - cost->ns / (one_of / cost->one_of) < over_ns);
	return one_of;
}

/* A part of the connections tells as much, if enough are left. */
static bool choose_by_rate(const struct budget_look *look, struct budget_step *ret)
{
	const struct optional_cost *cost = &look->features[OPTIONAL_REQUESTS];
	uint32_t one_of = cost->one_of;

	while (one_of && one_of < cost->most_one_of &&
	       look->requests_per_second / (one_of / cost->one_of) > MOST_REQUESTS)
		one_of *= 2;
	*ret = (struct budget_step){ .feature = OPTIONAL_REQUESTS, .one_of = one_of, .by_rate = true };
	return one_of > cost->one_of;
}

bool budget_choose(const struct budget_look *look, struct budget_step *ret)
{
	const struct optional_cost *best = 0;

	if (look->cost_ns <= look->allowed_ns)
		return choose_by_rate(look, ret);
	*ret = (struct budget_step){};
	for (int i = 0; i < OPTIONAL_FEATURES; i++) {
		const struct optional_cost *cost = &look->features[i];
		int turn = turn_of(i, cost), best_turn = best ? turn_of(ret->feature, best) : 0;

		if (!is_worth_it(look, i, cost) ||
		    (best && (turn > best_turn || (turn == best_turn && cost->ns <= best->ns))))
			continue;
		best = cost;
		ret->feature = i;
	}
	if (best)
		ret->one_of = thinned(best, look->cost_ns - look->allowed_ns);
	return best != 0;
}
