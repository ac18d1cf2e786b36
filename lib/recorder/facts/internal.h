/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the parts of the host facts: facts/host_files.c, facts/list.c and facts/list_answers.c say what is wanted,
 * facts/cgroups.c which directories of the targets' control groups and facts/affinity.c which of their threads;
 * facts/read.c reads one file, facts/cpuid.c, facts/nfs_connections.c, facts/listeners.c, facts/traffic_control.c,
 * facts/link_settings.c, facts/network_settings.c, facts/file_systems.c, facts/user_tasks.c and facts/hotspot.c what is
 * none, facts.c does it in children with a deadline.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum facts_phase {
	FACTS_BEGIN = 1,
	FACTS_SERIES = 2,
	FACTS_END = 4,
};

#define FACTS_TEXT_MAX (64 * 1024)
#define FACTS_DEFAULT_MAX (16 * 1024)
#define FACTS_PATHS_MAX 8192 /* of one phase; hosts with more disks or CPUs than these tell lack the last ones */
#define FACTS_TEXTS_MAX (8 * 1024 * 1024) /* of one phase, all texts together */
#define FACTS_PIDS_MAX 64		  /* of so many targets everything is recorded, of the others nothing */

/* One file to be read. */
struct wanted {
	char *path;
	uint32_t limit;	   /* most bytes of text that are kept */
	bool again;	   /* at the end too, even if the target is gone by then */
	const char *until; /* the text is cut before this string; NULL: nowhere.  A literal of the table */
};

struct wanted_list {
	struct wanted *items;
	size_t count, capacity;
};

int wanted_add(struct wanted_list *list, const char *path, uint32_t limit, const char *until);
bool wanted_has(const struct wanted_list *list, const char *path);
void wanted_free(struct wanted_list *list);

/* Everything of one phase, the most important first. */
int facts_list(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count);
/* What else the targets' namespaces hold; since 6.18 asking which those are waits for an exec to get through. */
int facts_list_namespaces(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count);
/* What of these processes no file tells, the namespaces of the network asked by a socket there. */
int facts_list_answers(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count);
/* The files of the targets' control groups and of all their ancestors that can be seen from here. */
int facts_list_cgroups(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count);

/* The weights of these processes' control groups for CPUs, and of all that these are in. */
int facts_list_weights(struct wanted_list *list, const pid_t *pids, size_t count);

#define COMPETITOR_FACTS "/competitor/" /* and pid and file, as below /proc */
int facts_list_competitors(struct wanted_list *list);

/* Threads of the kernel that work for a feature of its memory. */
int facts_list_kernel_threads(struct wanted_list *list);

/* The threads of a process that may use other CPUs than its first one, or any if that has ended. */
int facts_list_affinity(struct wanted_list *list, pid_t pid);

/* Whether a record of the kernel log belongs to a report of the OOM killer; *lines is 0 before the first record. */
bool log_line_of_oom_report(const char *record, unsigned int *lines);

/* Hides what users named in the text of a record; it gets no longer. */
void fact_hide_names(char *text);

struct fact_text {
	size_t length;
	int error; /* errno, 0: read */
	bool truncated;
	char text[FACTS_TEXT_MAX];
};

static inline size_t fact_limit(const struct wanted *wanted)
{
	return wanted->limit < FACTS_TEXT_MAX ? wanted->limit : FACTS_TEXT_MAX;
}

/* False: the text has no room left for it. */
static inline bool fact_add_line(struct fact_text *fact, size_t limit, const char *line, size_t length)
{
	if (fact->length + length > limit) {
		fact->truncated = true;
		return false;
	}
	memcpy(fact->text + fact->length, line, length);
	fact->length += length;
	return true;
}

/* Cuts what may be secret out of the options [options, end) of a mount of a type; returns their new end. */
char *fact_cut_mount_options(const char *type, size_t type_length, char *options, char *end);

/* What may be secret in the sources and options of mounts is cut out of a text of mountinfo or mountstats. */
void fact_cut_mounts(const char *path, struct fact_text *fact);

/* Of the kernel's command line only options that make a host slower or faster are kept: facts/boot_options.c. */
void fact_cut_boot_options(const char *path, struct fact_text *fact);

/* What an instruction tells, under names that are no files. */
#define CPUID_FACTS "/cpuid"
void fact_read_cpuid(const char *path, struct fact_text *fact);

/* Likewise what the network says of the connections to NFS servers. */
#define SOCKET_FACTS "/sock_diag"
#define NFS_CONNECTIONS_FACT SOCKET_FACTS "/nfs"
void fact_read_nfs_connections(const struct wanted *wanted, struct fact_text *fact);
#define LISTENERS_FACT SOCKET_FACTS "/listen/" /* and of the sockets that process PID listens on */
void fact_read_listeners(const struct wanted *wanted, struct fact_text *fact);

/* Where packets wait to leave through the interfaces of a process: facts/traffic_control.c. */
#define TRAFFIC_CONTROL_FACT "/traffic_control/" /* and the process */
void fact_read_traffic_control(const struct wanted *wanted, struct fact_text *fact);

/* What the drivers of network interfaces are set to, the recorder's or those of a process: facts/link_settings.c. */
#define ETHTOOL_FACTS "/ethtool"
#define OWN_LINKS_FACT ETHTOOL_FACTS "/links"
void fact_read_link_settings(const struct wanted *wanted, struct fact_text *fact);

/* Settings of the kernel that each network namespace has for itself: facts/network_settings.c. */
#define NETWORK_SETTINGS_FACT "/network_settings/" /* and the process */
void fact_read_network_settings(const struct wanted *wanted, struct fact_text *fact);

/* How much room there is where a process writes: facts/file_systems.c. */
#define FILE_SYSTEMS_FACT "/file_systems/" /* and the process */
void fact_read_file_systems(const struct wanted *wanted, struct fact_text *fact);

/* Which processes of a user may start no more tasks: facts/user_tasks.c. */
#define USER_TASKS_FACT "/user_tasks/" /* and the user */
void fact_read_user_tasks(const struct wanted *wanted, struct fact_text *fact);

/* Counters of a Java virtual machine: facts/hotspot.c. */
#define HOTSPOT_FACTS "/hotspot/" /* and the process */
int facts_list_hotspot(struct wanted_list *list, const pid_t *pids, size_t count);
void fact_read_hotspot(const struct wanted *wanted, struct fact_text *fact);

/* Reads a file, a link's destination, a directory's entry count, the kernel log's tail or a CPU's clock counters. */
void fact_read(const struct wanted *wanted, struct fact_text *fact);
