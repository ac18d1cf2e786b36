// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/hotspot.h"
#include "facts/internal.h"
#include "facts/rules.h"

#define B FACTS_BEGIN
#define S FACTS_SERIES
#define E FACTS_END

#define DIRECTORIES_MAX 32 /* matches of a rule's directory, unless the rule says otherwise */

static const struct fact_rule process_rules[] = {
	{ "", "stat status schedstat io limits cgroup oom_score_adj wchan autogroup", .phases = B | E },
	{ "", "fd", .phases = B | S | E },
};

/* Once for each namespace the targets live in. */
static const struct fact_rule network_rules[] = {
	{ "/net", "snmp", .phases = B | S | E },
	{ "/net", "netstat snmp6 dev sockstat", .phases = B | E },
	{ "/net", "udp udp6", .phases = B | E, .limit = 32 * 1024 },
};

/* Likewise, unless it is our own namespace, which host_rules read. */
static const struct fact_rule mount_rules[] = {
	{ "", "mountinfo", .phases = B, .limit = FACTS_TEXT_MAX },
};

int wanted_add(struct wanted_list *list, const char *path, uint32_t limit, const char *until)
{
	char *copy;

	if (list->count == FACTS_PATHS_MAX)
		return 0; /* facts_write() says so */
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 256;
		struct wanted *items = reallocarray(list->items, capacity, sizeof(*items));

		if (!items)
			return -ENOMEM;
		list->items = items;
		list->capacity = capacity;
	}
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	list->items[list->count++] = (struct wanted){
		.path = copy,
		.limit = limit ?: FACTS_DEFAULT_MAX,
		.until = until,
	};
	return 0;
}

bool wanted_has(const struct wanted_list *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].path, path) == 0)
			return true;
	return false;
}

void wanted_free(struct wanted_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].path);
	free(list->items);
	*list = (struct wanted_list){};
}

static bool is_pattern(const char *text)
{
	return strpbrk(text, "*?[");
}

static bool exists(const char *path)
{
	return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* One name of a rule in one directory that exists or was named in full. */
static int add_name(struct wanted_list *list, const struct fact_rule *rule, const char *directory, const char *name)
{
	_cleanup_free_ char *path = NULL;
	glob_t matches = {};
	int err = 0;

	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (!is_pattern(name)) {
		if (is_pattern(rule->directory) && !exists(path))
			return 0;
		return wanted_add(list, path, rule->limit, rule->until);
	}
	if (glob(path, 0, NULL, &matches) == 0)
		for (size_t i = 0; i < matches.gl_pathc && i < 512 && !err; i++)
			err = wanted_add(list, matches.gl_pathv[i], rule->limit, rule->until);
	globfree(&matches);
	return err;
}

static int add_directory(struct wanted_list *list, const struct fact_rule *rule, const char *directory)
{
	_cleanup_free_ char *names = strdup(rule->names);
	char *rest = names, *name;
	int err = 0;

	if (!names)
		return -ENOMEM;
	while (!err && (name = strsep(&rest, " ")))
		err = add_name(list, rule, directory, name);
	return err;
}

/* Most hosts have loop devices that nobody uses; their links are recorded, the rest is left out. */
static bool is_unused_disk(const char *directory)
{
	_cleanup_fclose_ FILE *file = NULL;
	char name[96], path[128];

	if (sscanf(directory, "/sys/block/%95[^/]", name) != 1)
		return false;
	snprintf(path, sizeof(path), "/sys/block/%s/size", name);
	file = fopen(path, "re");
	return file && fgetc(file) == '0';
}

static int add_rule(struct wanted_list *list, const struct fact_rule *rule)
{
	size_t max = rule->max ?: DIRECTORIES_MAX;
	glob_t matches = {};
	int err = 0;

	if (!is_pattern(rule->directory))
		return add_directory(list, rule, rule->directory);
	if (glob(rule->directory, 0, NULL, &matches))
		err = wanted_add(list, rule->directory, rule->limit, NULL); /* recorded as missing */
	for (size_t i = 0; i < matches.gl_pathc && i < max && !err; i++)
		if (!is_unused_disk(matches.gl_pathv[i]))
			err = add_directory(list, rule, matches.gl_pathv[i]);
	globfree(&matches);
	return err;
}

static int add_process(struct wanted_list *list, enum facts_phase phase, pid_t pid, const struct fact_rule *rules,
		       size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		char directory[64];

		snprintf(directory, sizeof(directory), "/proc/%d%s", pid, rules[i].directory);
		if (rules[i].phases & phase)
			err = add_directory(list, &rules[i], directory);
	}
	return err;
}

static bool same_namespace(pid_t pid, const char *other, const char *name)
{
	char path[64], own_text[64] = "", other_text[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	if (readlink(path, own_text, sizeof(own_text) - 1) < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%s/ns/%s", other, name);
	return readlink(path, other_text, sizeof(other_text) - 1) > 0 && strcmp(own_text, other_text) == 0;
}

static bool first_in_namespace(const pid_t *pids, size_t index, const char *name)
{
	char other[16];

	for (size_t i = 0; i < index; i++) {
		snprintf(other, sizeof(other), "%d", pids[i]);
		if (same_namespace(pids[index], other, name))
			return false;
	}
	return true;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int facts_list(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count)
{
	int err = 0;

	if (count > FACTS_PIDS_MAX)
		count = FACTS_PIDS_MAX;
	for (size_t i = 0; i < count && !err; i++) {
		err = add_process(list, phase, pids[i], process_rules, COUNT(process_rules));
		if (!err && phase != FACTS_SERIES)
			err = facts_list_affinity(list, pids[i]);
		if (!err && i == 0)
			err = add_process(list, phase, pids[i], network_rules, COUNT(network_rules));
	}
	if (!err)
		err = facts_list_cgroups(list, phase, pids, count);
	for (size_t i = 0; i < host_rules_count && !err; i++)
		if (host_rules[i].phases & phase)
			err = add_rule(list, &host_rules[i]);
	return err;
}

/* Of the recorder's own network namespace host_rules have the links. */
static int add_network_answers(struct wanted_list *list, enum facts_phase phase, pid_t pid)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), TRAFFIC_CONTROL_FACT "%d", pid);
	err = wanted_add(list, path, FACTS_TEXT_MAX, NULL);
	if (err || phase != FACTS_BEGIN)
		return err;
	snprintf(path, sizeof(path), NETWORK_SETTINGS_FACT "%d", pid);
	err = wanted_add(list, path, 0, NULL);
	if (err || same_namespace(pid, "self", "net"))
		return err;
	snprintf(path, sizeof(path), ETHTOOL_FACTS "/%d", pid);
	return wanted_add(list, path, 0, NULL);
}

int facts_list_namespaces(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count)
{
	int err = 0;

	if (count > FACTS_PIDS_MAX)
		count = FACTS_PIDS_MAX;
	for (size_t i = 0; i < count && !err; i++) {
		bool first = first_in_namespace(pids, i, "net");

		if (first && i > 0)
			err = add_process(list, phase, pids[i], network_rules, COUNT(network_rules));
		if (!err && first)
			err = add_network_answers(list, phase, pids[i]);
		if (!err && first_in_namespace(pids, i, "mnt") && !same_namespace(pids[i], "self", "mnt"))
			err = add_process(list, phase, pids[i], mount_rules, COUNT(mount_rules));
	}
	return err ?: facts_list_answers(list, phase, pids, count);
}
