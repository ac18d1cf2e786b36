/* SPDX-License-Identifier: GPL-2.0-only */
/* Why something cannot record here, and what helps: told to people, unless something else can. */
#pragma once
#include <stdarg.h>
#include <stdio.h>

struct lack {
	char why[512], remedy[256];
};

/* Returns err, so that it can be what a function returns. */
__attribute__((format(printf, 4, 5))) static inline int lack_of(struct lack *lack, int err, const char *remedy,
								const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(lack->why, sizeof(lack->why), format, arguments);
	va_end(arguments);
	snprintf(lack->remedy, sizeof(lack->remedy), "%s", remedy);
	return err;
}

static inline void lack_say(const struct lack *lack)
{
	if (lack->why[0])
		fprintf(stderr, "error: %s\n", lack->why);
	if (lack->why[0] && lack->remedy[0])
		fprintf(stderr, "HINT: %s\n", lack->remedy);
}
