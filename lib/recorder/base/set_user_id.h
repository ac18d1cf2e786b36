/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set-user-id or set-group-id program would act as its owner, with an environment that its caller chooses.  A program
 * with file capabilities may run: it is still its caller.
 */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define EXIT_NOT_PERMITTED 3

static inline bool is_set_user_id(void)
{
	return getuid() != geteuid() || getgid() != getegid();
}

static inline void explain_set_user_id(const char *program)
{
	fprintf(stderr,
		"error: %s was started set-user-id or set-group-id, by user %u, group %u as user %u, group %u\n"
		"HINT: chmod ug-s its file; to let others record: a rule of sudo, see perfdiag(8)\n",
		program, getuid(), getgid(), geteuid(), getegid());
}
