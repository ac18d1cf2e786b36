// SPDX-License-Identifier: GPL-2.0-only
/*
 * exec_when_read - looks like PostgreSQL, and becomes another program while its file is read.
 *
 * exec_when_read PROGRAM; without one it sleeps.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

__attribute__((visibility("default"))) unsigned int *my_wait_event_info;
const char version[] = "postgres (PostgreSQL) 15.6";

/* Where an exported function stands in this file, another program has other code. */
__attribute__((visibility("default"), noinline)) void pgstat_report_activity(void)
{
	__asm__ volatile("");
}

__attribute__((visibility("default"), noinline)) void PortalRun(void)
{
	__asm__ volatile("");
}

static int is_reader(const char *name)
{
	char path[300], comm[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/comm", name);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (!fgets(comm, sizeof(comm), file))
		comm[0] = '\0';
	fclose(file);
	return !strncmp(comm, "perfdiag-symbol", 15);
}

int main(int argc, char **argv)
{
	prctl(PR_SET_NAME, "postgres");
	while (argc > 1) {
		DIR *directory = opendir("/proc");
		struct dirent *entry;

		while (directory && (entry = readdir(directory)))
			if (atoi(entry->d_name) > getpid() && is_reader(entry->d_name)) {
				usleep(20000); /* it has opened this file by then, and reads on */
				execl(argv[1], argv[1], NULL);
			}
		closedir(directory);
	}
	return pause();
}
