// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel knows of its own connections to NFS servers: how long each had something to send, and how much of
 * that it was held by the window the server gave it.  No file tells that; sock_diag(7) does, as to ss -ti.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/internal.h"
#include "base/netlink.h"
#include "base/sock_diag.h"

#define NFS_PORT 2049
#define ESTABLISHED 1 /* TCP_ESTABLISHED, whose header clashes with linux/tcp.h */

struct answer {
	struct fact_text *fact;
	size_t limit;
};

/* "PORT ADDRESS BUSY RECEIVER BUFFER WINDOW ACKED": our port, the server's address, microseconds, bytes. */
static void add_connection(struct fact_text *fact, size_t limit, const struct inet_diag_msg *message,
			   const struct tcp_info *info)
{
	char address[INET6_ADDRSTRLEN], line[256];
	int length;

	if (!inet_ntop(message->idiag_family, message->id.idiag_dst, address, sizeof(address)))
		return;
	length = snprintf(line, sizeof(line), "%u %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %" PRIu64 "\n",
			  ntohs(message->id.idiag_sport), address, (uint64_t)info->tcpi_busy_time,
			  (uint64_t)info->tcpi_rwnd_limited, (uint64_t)info->tcpi_sndbuf_limited, info->tcpi_snd_wnd,
			  (uint64_t)info->tcpi_bytes_acked);
	fact_add_line(fact, limit, line, length);
}

static void read_connection(const struct nlmsghdr *answer, void *argument)
{
	struct answer *into = argument;
	struct tcp_info info = {};
	size_t size;
	/* A kernel before 5.4 knows no tcpi_snd_wnd. */
	const void *known = sock_diag_attribute(
		answer, INET_DIAG_INFO, offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(info.tcpi_snd_wnd), &size);

	if (!known)
		return;
	memcpy(&info, known, size < sizeof(info) ? size : sizeof(info));
	add_connection(into->fact, into->limit, NLMSG_DATA(answer), &info);
}

void fact_read_nfs_connections(const struct wanted *wanted, struct fact_text *fact)
{
	const struct inet_diag_req_v2 request = {
		.idiag_ext = 1 << (INET_DIAG_INFO - 1),
		.idiag_states = 1 << ESTABLISHED,
		.id.idiag_dport = htons(NFS_PORT),
	};
	struct answer into = { fact, fact_limit(wanted) };
	_cleanup_close_ int fd = -1;
	int err;

	/* Not where there is nothing to ask for: the kernel loads a module for the answer. */
	if (access("/proc/fs/nfsfs/servers", F_OK)) {
		fact->error = errno;
		return;
	}
	fd = netlink_open(NETLINK_SOCK_DIAG);
	err = fd < 0 ? fd : sock_diag_dump(fd, &request, read_connection, &into);
	fact->error = -err;
}
