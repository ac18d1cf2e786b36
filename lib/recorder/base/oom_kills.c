// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/oom_kills.h"

#define VMSTAT_BYTES (64 << 10) /* it has 8 KiB */

unsigned long oom_kills(void)
{
	static char text[VMSTAT_BYTES];
	int fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
	ssize_t part, length = 0;
	const char *found;

	while (fd >= 0 && (part = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
		length += part;
	if (fd >= 0)
		close(fd);
	text[length] = '\0';
	found = strstr(text, "\noom_kill ");
	return found ? strtoul(found + strlen("\noom_kill "), NULL, 10) : 0;
}
