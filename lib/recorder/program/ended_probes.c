// SPDX-License-Identifier: GPL-2.0-only
/* Programs that end before the window does, because they cost too much. */
#include <string.h>
#include "program/probes.h"
#include "perfdiag.skel.h"

bool probes_watch_failed_calls(const struct recorder *recorder)
{
	const struct probe_state *state = probe_state_of(recorder, recorder->skeleton->progs.failed_call);

	return state && state->link;
}

/* What it has counted so far stays. */
void probes_end_failed_calls(struct recorder *recorder)
{
	struct probe_state *state = probe_state_of(recorder, recorder->skeleton->progs.failed_call);

	if (!state || !state->link)
		return;
	bpf_link__destroy(state->link);
	state->link = NULL;
	recorder->skeleton->bss->knobs.sees_failures = 0;
	recorder->calls_watched_until_ns = now_ns();
}

/* Nobody is met any more, and who was is not looked at: a line of time that nobody keeps up would mislead. */
void probes_end_peers(struct recorder *recorder)
{
	recorder->skeleton->bss->knobs.follows_peers = 0;
	recorder->skeleton->bss->peer_threads = 0;
}

void probes_end_requests(struct recorder *recorder)
{
	for (size_t i = 0; i < probes_count(); i++) {
		struct probe_state *state = &recorder->probes[i];

		if (strcmp(state->probe->feature, "requests"))
			continue;
		bpf_link__destroy(state->link);
		state->link = NULL;
	}
}
