// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel knows of its own connections to NFS servers: how long each had something to send, and how much of
 * that it was held by the window the server gave it.  No file tells that; sock_diag(7) does, as to ss -ti.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cleanup.h"
#include "facts_internal.h"

#define NFS_PORT 2049
#define ESTABLISHED 1 /* TCP_ESTABLISHED, whose header clashes with linux/tcp.h */

static int ask(int fd, uint8_t family)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} message = {
		.header = {
			.nlmsg_len = sizeof(message),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.request = {
			.sdiag_family = family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_ext = 1 << (INET_DIAG_INFO - 1),
			.idiag_states = 1 << ESTABLISHED,
			.id.idiag_dport = htons(NFS_PORT),
		},
	};

	return send(fd, &message, sizeof(message), 0) == sizeof(message) ? 0 : -errno;
}

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
	if (fact->length + length > limit) {
		fact->truncated = true;
		return;
	}
	memcpy(fact->text + fact->length, line, length);
	fact->length += length;
}

static void read_connection(struct fact_text *fact, size_t limit, const struct nlmsghdr *header)
{
	const struct inet_diag_msg *message = NLMSG_DATA(header);
	int length = (int)header->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*message));

	for (const struct rtattr *attribute = (const void *)(message + 1); RTA_OK(attribute, length);
	     attribute = RTA_NEXT(attribute, length)) {
		struct tcp_info info = {};
		size_t size = RTA_PAYLOAD(attribute);

		/* A kernel before 5.4 knows no tcpi_snd_wnd. */
		if (attribute->rta_type != INET_DIAG_INFO ||
		    size < offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(info.tcpi_snd_wnd))
			continue;
		memcpy(&info, RTA_DATA(attribute), size < sizeof(info) ? size : sizeof(info));
		add_connection(fact, limit, message, &info);
	}
}

/* 0 at the end of the answer. */
static int read_answer(int fd, struct fact_text *fact, size_t limit)
{
	_Alignas(struct nlmsghdr) char buffer[32 * 1024];

	for (;;) {
		ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
		int length = got;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		for (const struct nlmsghdr *header = (const void *)buffer; NLMSG_OK(header, length);
		     header = NLMSG_NEXT(header, length)) {
			if (header->nlmsg_type == NLMSG_DONE)
				return 0;
			if (header->nlmsg_type == NLMSG_ERROR)
				return ((const struct nlmsgerr *)NLMSG_DATA(header))->error ?: -EPROTO;
			if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY)
				read_connection(fact, limit, header);
		}
	}
}

void fact_read_nfs_connections(const struct wanted *wanted, struct fact_text *fact)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	_cleanup_close_ int fd = -1;
	int err = 0;

	/* Asking makes the kernel load its module tcp_diag: not where there is nothing to ask for. */
	if (access("/proc/fs/nfsfs/servers", F_OK)) {
		fact->error = errno;
		return;
	}
	fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		err = -errno;
	for (size_t i = 0; i < sizeof(families) / sizeof(*families) && !err; i++) {
		err = ask(fd, families[i]);
		if (!err)
			err = read_answer(fd, fact, wanted->limit < FACTS_TEXT_MAX ? wanted->limit : FACTS_TEXT_MAX);
	}
	fact->error = -err;
}
