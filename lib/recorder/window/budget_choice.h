/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recording gives up to keep the cost of its programs within a budget: a pure function of costs. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* What can be given up.  The ledger never is: switches, wake-ups, and what moves time between accounts. */
enum optional_feature {
	OPTIONAL_FAILED_CALLS, /* the results of system calls */
	OPTIONAL_STACKS,       /* of running threads, and of waits */
	OPTIONAL_PEERS,	       /* what processes outside do that are waited for */
	OPTIONAL_REQUESTS,     /* requests and calls, by connection */
	OPTIONAL_FEATURES
};

/* `one_of`: of so many one is followed (a power of two); 0: none. */
struct optional_cost {
	uint32_t one_of;      /* now */
	uint32_t most_one_of; /* thinned to less it tells nothing any more */
	bool unknown;	      /* it is part of what the ledger takes */
	uint64_t ns;
	uint64_t thicker_ns; /* it would take, had the last thinning won nothing; 0: there was none */
};

struct budget_look {
	uint64_t cost_ns, allowed_ns; /* of all programs */
	uint64_t settled_cost_ns,
		settled_allowed_ns;   /* likewise since the last step; 0 until that is long enough ago */
	uint64_t requests_per_second; /* that are followed */
	struct optional_cost features[OPTIONAL_FEATURES];
};

struct budget_step {
	enum optional_feature feature;
	uint32_t one_of; /* from now on */
	bool by_rate;	 /* there are more requests than worth following, whatever they cost */
};

/* More requests a second tell nothing more: of so many, quantiles are known better than their buckets tell. */
#define MOST_REQUESTS 20000

/* The next step to keep the budget; false: it is kept, or nothing is left whose loss would win something. */
bool budget_choose(const struct budget_look *look, struct budget_step *ret);
