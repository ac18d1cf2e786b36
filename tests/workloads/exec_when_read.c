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

#if defined(__x86_64__)
#define BODY "push %rbx\n\tpop %rbx\n\t.skip 80, 0x90"
#else
#define BODY "stp x29, x30, [sp, -16]!\n\tldp x29, x30, [sp], 16\n\t.skip 80"
#endif
#define EXPORTED(name)                                                                                                 \
	__attribute__((visibility("default"), noinline)) void name(void)                                               \
	{                                                                                                              \
		__asm__ volatile(BODY);                                                                                \
	}

/* Where an exported function stands in this file, another program has other code. */
EXPORTED(pgstat_report_activity)
EXPORTED(PortalRun)
EXPORTED(PostmasterMain)
EXPORTED(PostgresMain)
EXPORTED(ProcessInterrupts)
EXPORTED(heap_insert)

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
