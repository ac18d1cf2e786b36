// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections that nobody has used in the window and whose last word asks for an answer, if anything does: a server that
 * hangs with questions that it has read before shows nothing else.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include "recorder.h"

#define MOST_SILENT 2048 /* ports, addresses and peers, of each process */

static struct silent {
	__u64 object, oldest_ns;
	__u32 direction, tgid;
	__u64 count, never;
} silents[MOST_SILENT];
static size_t count, untold;

static struct silent *silent_at(__u64 object, __u32 direction, __u32 tgid, bool known)
{
	for (size_t i = 0; i < count; i++)
		if (silents[i].object == object && silents[i].direction == direction && silents[i].tgid == tgid &&
		    !silents[i].oldest_ns == !known)
			return &silents[i];
	if (count == MOST_SILENT)
		return NULL;
	silents[count] = (struct silent){ .object = object, .direction = direction, .tgid = tgid };
	return &silents[count++];
}

void silent_add(struct recorder *recorder, const struct left_unread *found, __u64 now)
{
	struct silent *silent;

	/* Of a whole host nobody is acquitted.  One that was used after all, by ways that are not followed, is not silent. */
	if (recorder->options.host || found->begun >= recorder->start_ns)
		return;
	silent = silent_at(found->object, found->direction, found->tgid, found->begun);
	if (!silent) {
		untold++;
		return;
	}
	silent->count++;
	silent->never += found->never;
	if (found->begun && now - found->begun > silent->oldest_ns)
		silent->oldest_ns = now - found->begun;
}

void silent_write(struct recorder *recorder)
{
	struct json *json = &recorder->json;

	if (untold)
		fprintf(stderr, "warning: %zu silent connections found no room\n", untold);
	for (size_t i = 0; i < count; i++) {
		json_open(json, "silent");
		object_write(recorder, "object", silents[i].object);
		json_text(json, "direction", silents[i].direction == DIRECTION_ACCEPTED ? "accepted" : "connected");
		json_u64(json, "pid", silents[i].tgid);
		json_u64(json, "count", silents[i].count);
		json_u64(json, "never", silents[i].never);
		json_u64(json, "oldest_ns", silents[i].oldest_ns);
		json_write(json, &recorder->output);
	}
}
