// SPDX-License-Identifier: GPL-2.0-only
/* Which lines of the kernel log belong to a report of the OOM killer and say what happened. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "facts/internal.h"

#define SMALL_TASK_PAGES 1024 /* tables of thousands of tasks must not push the rest of the log out */
#define COLUMNS_MAX 16
#define REPORT_LINES_MAX 20000 /* what lasts longer has lost its end */

/* "[    123]     0   123    16984     8477 ... 110592        0             0 devour": pages held, in memory or in swap. */
static long task_pages(const char *row)
{
	long numbers[COLUMNS_MAX] = { 0 };
	int count = 0;
	char *end;

	row = strchr(row, ']');
	for (row = row ? row + 1 : ""; count < COLUMNS_MAX; row = end, count++) {
		numbers[count] = strtol(row, &end, 10);
		if (end == row)
			break;
	}
	/* uid tgid total_vm rss ... swapents oom_score_adj; a name that is a number moves the last two, no more. */
	return count < 6 ? SMALL_TASK_PAGES : numbers[3] > numbers[count - 2] ? numbers[3] : numbers[count - 2];
}

static bool begins_with_any(const char *text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(text, words[i], strlen(words[i])))
			return true;
	return false;
}

/* record: as /dev/kmsg has it.  *lines counts those of the report that it stands in; 0: in none. */
bool log_line_of_oom_report(const char *record, unsigned int *lines)
{
	static const char *const told[] = {
		"CPU: ",
		"Mem-Info:",
		"active_anon:",
		" active_file:",
		" unevictable:",
		" slab_",
		" mapped:",
		" sec_pagetables:",
		" kernel_misc",
		" free:",
		"lowmem_reserve",
		"memory: usage",
		"memory+swap: usage",
		"swap: usage",
		"Memory cgroup stats",
		"anon ", /* of a control group: all in one record up to 6.1, one each from 6.12 on */
		"file ",
		"kernel ",
		"kernel_stack ",
		"pagetables ",
		"shmem ",
		"file_dirty ",
		"file_writeback ",
		"inactive_file ",
		"active_file ",
		"unevictable ",
		"slab ",
		"cache ", /* likewise, of version 1 */
		"rss ",
		"dirty ",
		"writeback ",
		"Free swap",
		"Total swap",
		"Tasks state",
		"oom-kill:",
		"Tasks in ",
		"Out of memory",
		"Memory cgroup out of memory",
		"oom_reaper:",
	};
	const char *text = strchr(record, ';');

	text = text ? text + 1 : record;
	if (strstr(text, " invoked oom-killer: "))
		*lines = 1;
	if (!*lines || ++*lines > REPORT_LINES_MAX) {
		*lines = 0;
		return false;
	}
	if (strstr(text, "illed process ") || strstr(text, "no killable processes")) {
		*lines = 0; /* those that say more (oom_reaper, memory.oom.group) are kept for their words */
		return true;
	}
	if (text[0] == '[' && strchr("0123456789 ", text[1]))
		return strstr(text, "oom_score_adj") || task_pages(text) >= SMALL_TASK_PAGES;
	if (!strncmp(text, "Node ", 5))
		return !strstr(text, "hugepages_total");
	return begins_with_any(text, told, sizeof(told) / sizeof(*told)) || strstr(text, " invoked oom-killer: ") ||
	       strstr(text, " pages RAM") || strstr(text, " pages reserved") || strstr(text, " total pagecache pages");
}
