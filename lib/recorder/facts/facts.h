/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Host facts: the small files of /proc and /sys a diagnosis may need, recorded as they stand and interpreted later.
 * They are read in a forked child with a deadline, because a dead mount or a held mmap_lock can block any of them
 * for ever; what was not read in time is recorded as an error.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>
#include "output/output.h"

/*
 * phase: "begin", "series" (a short list, cheap) or "end".  The deadline is for what hangs; where the host is so busy
 * that the reader, which could run, is given no CPU, FACTS_SLOWER times as long.  meanwhile() is called now and then.
 */
#define FACTS_SLOWER 4
int facts_write(struct output *output, const char *phase, const pid_t *pids, size_t count, unsigned int deadline_ms,
		void (*meanwhile)(void));
/* Of these processes too it is asked whether they are Java virtual machines: pid(0), pid(1) and so on, 0 for none. */
void facts_look_also_at(pid_t (*pid)(size_t n));
/* Of these processes, none of the target, the end tells how they are scheduled: at most so many. */
#define COMPETITORS 8
void facts_look_at_competitors(const pid_t *pids, size_t count);
/* From now on nothing is read of the programs that targets run (--no-apps). */
void facts_leave_out_applications(void);
