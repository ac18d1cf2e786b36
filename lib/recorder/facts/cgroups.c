// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the control groups of the targets are.  /proc/PID/cgroup names a path inside each hierarchy, mountinfo says
 * where (which part of) that hierarchy can be seen; on version 1 every controller may be mounted somewhere else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/internal.h"

#define FILES_MAX 1024 /* over all targets and hierarchies */
#define HIERARCHIES_MAX 32
/* Anybody to whom a group was delegated can nest a thousand below it: of such a nest those in the middle are left out. */
#define NEAREST_GROUPS 48
#define TOPMOST_GROUPS 16

struct group_files {
	const char *controller; /* NULL: version 2 */
	const char *name;
	int phases;
};

#define ALL (FACTS_BEGIN | FACTS_SERIES | FACTS_END)
#define TWICE (FACTS_BEGIN | FACTS_END)

static const struct group_files files[] = {
	{ NULL, "", FACTS_BEGIN }, /* the directory itself: its inode number is the group's ID */
	{ NULL, "cpu.max", TWICE },
	{ NULL, "cpu.stat", ALL },
	{ NULL, "cpu.weight", TWICE },
	{ NULL, "cpu.idle", FACTS_BEGIN },
	{ NULL, "cpu.uclamp.max", FACTS_BEGIN },
	{ NULL, "cpu.pressure", TWICE },
	{ NULL, "cpuset.cpus.effective", FACTS_BEGIN },
	{ NULL, "memory.max", TWICE },
	{ NULL, "memory.high", TWICE },
	{ NULL, "memory.current", TWICE },
	{ NULL, "memory.swap.max", TWICE },
	{ NULL, "memory.swap.current", TWICE },
	{ NULL, "memory.events", ALL },
	{ NULL, "memory.stat", TWICE },
	{ NULL, "memory.pressure", TWICE },
	{ NULL, "io.max", TWICE },
	{ NULL, "io.stat", TWICE },
	{ NULL, "io.weight", FACTS_BEGIN },
	{ NULL, "io.pressure", TWICE },
	{ NULL, "pids.max", TWICE },
	{ NULL, "pids.current", TWICE },
	{ NULL, "pids.events", TWICE },
	{ NULL, "cgroup.events", TWICE }, /* frozen, by itself or with an ancestor? */
	{ "cpu", "", FACTS_BEGIN },
	{ "cpu", "cpu.cfs_quota_us", TWICE },
	{ "cpu", "cpu.cfs_period_us", TWICE },
	{ "cpu", "cpu.shares", TWICE },
	{ "cpu", "cpu.stat", ALL },
	{ "cpuacct", "cpuacct.usage", TWICE },
	{ "cpuset", "cpuset.effective_cpus", FACTS_BEGIN },
	{ "memory", "", FACTS_BEGIN },
	{ "memory", "memory.limit_in_bytes", TWICE },
	{ "memory", "memory.memsw.limit_in_bytes", TWICE },
	{ "memory", "memory.usage_in_bytes", TWICE },
	{ "memory", "memory.failcnt", ALL },
	{ "memory", "memory.oom_control", TWICE },
	{ "memory", "memory.stat", TWICE },
	{ "blkio", "", FACTS_BEGIN },
	{ "blkio", "blkio.throttle.read_bps_device", TWICE },
	{ "blkio", "blkio.throttle.write_bps_device", TWICE },
	{ "blkio", "blkio.throttle.read_iops_device", TWICE },
	{ "blkio", "blkio.throttle.write_iops_device", TWICE },
	{ "blkio", "blkio.throttle.io_service_bytes", TWICE },
	{ "blkio", "blkio.throttle.io_serviced", TWICE },
	{ "pids", "pids.max", TWICE },
	{ "pids", "pids.current", TWICE },
	{ "pids", "pids.events", TWICE },
	{ "freezer", "freezer.state", TWICE },
};

/* Is word one of the comma-separated words of list? */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (strncmp(list, word, length) == 0 && (list[length] == ',' || !list[length]))
			return true;
	}
	return false;
}

/* mountinfo writes blanks, tabs, newlines and backslashes as \ooo. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned int value;

		if (*text == '\\' && sscanf(text, "\\%3o", &value) == 1) {
			*to++ = (char)value;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* Is group the root or below it?  *rest is what follows. */
static bool below(const char *group, const char *root, const char **rest)
{
	size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(group, root, length) || (group[length] && group[length] != '/'))
		return false;
	*rest = group + length;
	return true;
}

/* One mounted hierarchy, or the part of one that can be seen. */
struct hierarchy {
	bool unified;
	char *root; /* the group the mount shows as its top */
	char *point;
	char *options; /* the controllers, among other words */
};

struct hierarchies {
	struct hierarchy items[HIERARCHIES_MAX];
	size_t count;
};

static void hierarchy_free(struct hierarchy *hierarchy)
{
	free(hierarchy->root);
	free(hierarchy->point);
	free(hierarchy->options);
}

static void hierarchies_free(struct hierarchies *hierarchies)
{
	for (size_t i = 0; i < hierarchies->count; i++)
		hierarchy_free(&hierarchies->items[i]);
}

static int hierarchies_load(struct hierarchies *hierarchies)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;

	if (!file)
		return -errno;
	while (hierarchies->count < HIERARCHIES_MAX && getline(&line, &capacity, file) > 0) {
		struct hierarchy found = {};
		const char *tail = strstr(line, " - cgroup");

		if (!tail)
			continue;
		found.unified = strncmp(tail, " - cgroup2 ", 11) == 0;
		if (sscanf(line, "%*d %*d %*s %ms %ms", &found.root, &found.point) != 2 ||
		    sscanf(tail, " - %*s %*s %ms", &found.options) != 1) {
			hierarchy_free(&found);
			continue;
		}
		unescape(found.root);
		unescape(found.point);
		hierarchies->items[hierarchies->count++] = found;
	}
	return 0;
}

struct place {
	char directory[PATH_MAX]; /* of the group */
	size_t top;		  /* length of the mount point: no ancestor above it is visible */
};

/* One that shows the hierarchy from its root is better, then one with a short path; a later one hides its equals. */
static bool is_better(const struct hierarchy *one, const struct hierarchy *best)
{
	bool root = strcmp(one->root, "/") == 0;

	if (!best || root != (strcmp(best->root, "/") == 0))
		return !best || root;
	return strlen(one->point) <= strlen(best->point);
}

/* Finds the directory of a group. */
static int find_place(const struct hierarchies *hierarchies, const char *controller, const char *group,
		      struct place *place)
{
	const struct hierarchy *best = NULL;
	const char *rest, *best_rest = "";

	for (size_t i = 0; i < hierarchies->count; i++) {
		const struct hierarchy *one = &hierarchies->items[i];

		if (one->unified != !controller || (controller && !has_word(one->options, controller)) ||
		    !below(group, one->root, &rest) || !is_better(one, best))
			continue;
		best = one;
		best_rest = strcmp(rest, "/") ? rest : "";
	}
	if (!best)
		return -ENOENT;
	place->top = strlen(best->point);
	return snprintf(place->directory, PATH_MAX, "%s%s", best->point, best_rest) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* What is wanted of each group. */
struct selection {
	enum facts_phase phase;
	bool weights; /* for CPUs alone */
};

static bool is_weight(const char *name)
{
	return !strcmp(name, "cpu.weight") || !strcmp(name, "cpu.shares");
}

static int add_files(struct wanted_list *list, struct selection selection, const char *controller,
		     const char *directory, bool top)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !err; i++) {
		char path[PATH_MAX + 64];
		bool same = controller ? files[i].controller && !strcmp(controller, files[i].controller)
				       : !files[i].controller;

		if (!same || !(files[i].phases & selection.phase) || (selection.weights && !is_weight(files[i].name)))
			continue;
		if (top && !strcmp(files[i].name, "memory.stat"))
			continue; /* sums up all groups of the host, and meminfo says the same */
		snprintf(path, sizeof(path), "%s%s%s", directory, *files[i].name ? "/" : "", files[i].name);
		if (faccessat(AT_FDCWD, path, F_OK, 0) || wanted_has(list, path))
			continue;
		err = wanted_add(list, path, 0, NULL);
		if (!err)
			list->items[list->count - 1].again = files[i].phases & FACTS_END;
	}
	return err;
}

/* How many ancestors of the group are visible. */
static size_t ancestors(const struct place *place)
{
	size_t count = 0;

	for (const char *at = place->directory + place->top; (at = strchr(at, '/')); at++)
		count++;
	return count;
}

/* The group and its ancestors, of which all but the group itself stay out of the series. */
static int add_group(struct wanted_list *list, struct selection selection, const char *controller, struct place *place)
{
	size_t depth = ancestors(place);
	int err = 0;

	for (size_t up = 0;; up++) {
		bool top = strlen(place->directory) <= place->top;
		char *slash;

		if (up < NEAREST_GROUPS || up + TOPMOST_GROUPS > depth)
			err = add_files(list, selection, controller, place->directory, top);
		slash = strrchr(place->directory, '/');
		if (err || top || !slash || selection.phase == FACTS_SERIES)
			return err;
		*slash = '\0';
	}
}

/* One line "ID:controllers:path" of /proc/PID/cgroup; version 2 has ID 0 and no controllers. */
static int add_line(struct wanted_list *list, struct selection selection, const struct hierarchies *hierarchies,
		    char *line)
{
	char *group = line, *controllers, *controller;
	struct place place;
	int err = 0;

	strsep(&group, ":");
	controllers = strsep(&group, ":");
	if (!group)
		return 0;
	group[strcspn(group, "\n")] = '\0';
	if (!*controllers)
		return find_place(hierarchies, NULL, group, &place) ? 0 : add_group(list, selection, NULL, &place);
	while (!err && (controller = strsep(&controllers, ",")))
		if (find_place(hierarchies, controller, group, &place) == 0)
			err = add_group(list, selection, controller, &place);
	return err;
}

static int list_groups(struct wanted_list *list, struct selection selection, const pid_t *pids, size_t count)
{
	struct hierarchies hierarchies = {};
	size_t before = list->count;
	int err = hierarchies_load(&hierarchies);

	if (err)
		return 0; /* mountinfo itself is among the facts, and tells why */
	for (size_t i = 0; i < count && !err; i++) {
		_cleanup_fclose_ FILE *file = NULL;
		_cleanup_free_ char *line = NULL;
		size_t capacity = 0;
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/cgroup", pids[i]);
		file = fopen(path, "re");
		while (file && !err && list->count - before < FILES_MAX && getline(&line, &capacity, file) > 0)
			err = add_line(list, selection, &hierarchies, line);
	}
	hierarchies_free(&hierarchies);
	return err;
}

int facts_list_cgroups(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count)
{
	return list_groups(list, (struct selection){ .phase = phase }, pids, count);
}

int facts_list_weights(struct wanted_list *list, const pid_t *pids, size_t count)
{
	return list_groups(list, (struct selection){ .phase = FACTS_END, .weights = true }, pids, count);
}
