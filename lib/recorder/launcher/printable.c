// SPDX-License-Identifier: GPL-2.0-only
#include "launcher/printable.h"
#include <stddef.h>

#define MOST_BYTES 200

const char *printable(const char *word)
{
	static char text[MOST_BYTES + 1];
	size_t length = 0;

	for (; word[length] && length < MOST_BYTES; length++)
		text[length] = word[length] >= ' ' && word[length] <= '~' ? word[length] : '?';
	text[length] = '\0';
	return text;
}
