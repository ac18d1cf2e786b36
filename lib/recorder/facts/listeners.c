// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sockets a process listens on: how many connections wait in each one's accept queue, how many may, and how many
 * were dropped there.  No file tells the last two; sock_diag(7) does.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/internal.h"
#include "base/namespaces.h"
#include "base/process_files.h"
#include "base/sock_diag.h"

#define LISTENING 10  /* TCP_LISTEN, whose header clashes with others */
#define HELD_MAX 4096 /* descriptors that are looked at: who listens does so early */

struct listeners {
	struct fact_text *fact;
	size_t limit, count;
	uint32_t inodes[HELD_MAX]; /* of the sockets the process holds */
};

/* How many connections were dropped at listening sockets of a network namespace since it began, or -errno. */
static int64_t dropped_ever(pid_t pid)
{
	_cleanup_free_ char *names = NULL, *values = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], *rest_of_names, *rest_of_values, *name, *value;
	size_t name_bytes = 0, value_bytes = 0;

	snprintf(path, sizeof(path), "/proc/%d/net/netstat", pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	if (getline(&names, &name_bytes, file) < 0 || getline(&values, &value_bytes, file) < 0)
		return -EPROTO;
	rest_of_names = names;
	rest_of_values = values;
	while ((name = strsep(&rest_of_names, " \n")) && (value = strsep(&rest_of_values, " \n")))
		if (strcmp(name, "ListenDrops") == 0)
			return strtoll(value, NULL, 10);
	return -EPROTO;
}

static int read_held(struct listeners *into, pid_t pid)
{
	_cleanup_closedir_ DIR *directory = NULL;
	const struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	if (!directory)
		return -errno;
	for (int looked = 0; (entry = readdir(directory)); looked++) {
		char link[64] = "";

		if (looked == HELD_MAX) {
			into->fact->truncated = true;
			break;
		}
		if (readlinkat(dirfd(directory), entry->d_name, link, sizeof(link) - 1) > 0 &&
		    sscanf(link, "socket:[%" SCNu32 "]", &into->inodes[into->count]) == 1)
			into->count++;
	}
	return 0;
}

static bool is_held(const struct listeners *into, uint32_t inode)
{
	for (size_t i = 0; i < into->count; i++)
		if (into->inodes[i] == inode)
			return true;
	return false;
}

/* "ADDRESS PORT QUEUE LIMIT DROPS INODE" */
static void add_listener(const struct nlmsghdr *answer, void *argument)
{
	const struct inet_diag_msg *message = NLMSG_DATA(answer);
	struct listeners *into = argument;
	char address[INET6_ADDRSTRLEN], line[128];
	uint32_t memory[SK_MEMINFO_DROPS + 1];
	size_t bytes;
	const void *known = sock_diag_attribute(answer, INET_DIAG_SKMEMINFO, sizeof(memory), &bytes);

	if (!known || !is_held(into, message->idiag_inode) ||
	    !inet_ntop(message->idiag_family, message->id.idiag_src, address, sizeof(address)))
		return;
	memcpy(memory, known, sizeof(memory));
	fact_add_line(into->fact, into->limit, line,
		      snprintf(line, sizeof(line), "%s %u %u %u %u %u\n", address, ntohs(message->id.idiag_sport),
			       message->idiag_rqueue, message->idiag_wqueue, memory[SK_MEMINFO_DROPS],
			       message->idiag_inode));
}

/* "somaxconn LIMIT own", or "other": the network namespace is not the recorder's. */
static void add_setting(struct listeners *into, int limit, const char *whose)
{
	char line[64];

	if (limit >= 0)
		fact_add_line(into->fact, into->limit, line,
			      snprintf(line, sizeof(line), "somaxconn %d %s\n", limit, whose));
}

/* A socket in the network namespace of a process, or -errno. */
static int open_there(struct listeners *into, pid_t pid)
{
	bool own;
	int limit, fd = namespaces_socket(pid, NETLINK_SOCK_DIAG, &own, &limit);

	add_setting(into, limit, own ? "own" : "other");
	return fd;
}

void fact_read_listeners(const struct wanted *wanted, struct fact_text *fact)
{
	static const struct inet_diag_req_v2 request = {
		.idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
		.idiag_states = 1 << LISTENING,
	};
	struct listeners into = {
		.fact = fact,
		.limit = fact_limit(wanted),
	};
	pid_t pid = process_speaker(atoi(wanted->path + strlen(LISTENERS_FACT)));
	int64_t dropped = dropped_ever(pid);
	_cleanup_close_ int fd = -1;
	int err;

	/* Not where there is nothing to ask for: the kernel loads a module for the answer. */
	if (dropped <= 0) {
		fact->error = -dropped;
		return;
	}
	err = read_held(&into, pid);
	if (!err)
		fd = open_there(&into, pid);
	if (!err)
		err = fd < 0 ? fd : sock_diag_dump(fd, &request, add_listener, &into);
	fact->error = -err;
}
