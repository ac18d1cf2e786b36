// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files below /proc/sys/net as they are in the network namespace of a process: who reads one reads the setting of
 * the namespace that it was opened in.  host_rules say which, and have those of the recorder's own namespace.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/namespaces.h"
#include "base/process_files.h"
#include "facts/internal.h"
#include "facts/rules.h"

#define SETTINGS "/proc/sys/net/"
#define OWN "own\n"
#define VALUE_MAX_BYTES 256

/* "ipv4/tcp_sack 1", unless it cannot be set in that namespace: then it is not the namespace's, but the whole kernel's. */
static int add_setting(pid_t pid, const char *setting, struct fact_text *fact, size_t limit)
{
	char value[VALUE_MAX_BYTES], line[2 * VALUE_MAX_BYTES];
	struct stat status;
	ssize_t length;
	_cleanup_close_ int fd = namespaces_setting(pid, setting);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (fstat(fd, &status))
		return -errno;
	if (!(status.st_mode & S_IWUSR))
		return 0;
	length = read(fd, value, sizeof(value) - 1);
	if (length < 0)
		return -errno;
	value[length] = '\0';
	value[strcspn(value, "\n")] = '\0';
	fact_add_line(fact, limit, line, snprintf(line, sizeof(line), "%s %s\n", setting, value));
	return 0;
}

static int add_rule(pid_t pid, const struct fact_rule *rule, struct fact_text *fact, size_t limit)
{
	_cleanup_free_ char *names = strdup(rule->names);
	char *rest = names, *name;
	int err = names ? 0 : -ENOMEM;

	while (!err && (name = strsep(&rest, " "))) {
		char setting[64];

		snprintf(setting, sizeof(setting), "%s/%s", rule->directory + strlen(SETTINGS), name);
		err = add_setting(pid, setting, fact, limit);
	}
	return err;
}

void fact_read_network_settings(const struct wanted *wanted, struct fact_text *fact)
{
	pid_t pid = process_speaker(atoi(wanted->path + strlen(NETWORK_SETTINGS_FACT)));
	int err = 0;

	if (namespaces_is_own(pid)) {
		fact_add_line(fact, fact_limit(wanted), OWN, strlen(OWN));
		return;
	}
	for (size_t i = 0; i < host_rules_count && !err; i++)
		if (strncmp(host_rules[i].directory, SETTINGS, strlen(SETTINGS)) == 0)
			err = add_rule(pid, &host_rules[i], fact, fact_limit(wanted));
	fact->error = -err;
}
