// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include "base/netlink.h"

int netlink_open(int protocol)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, protocol);

	return fd < 0 ? -errno : fd;
}

/* The length of what the kernel sent, or -errno. */
static ssize_t receive(int fd, void *buffer, size_t size)
{
	for (;;) {
		struct sockaddr_nl sender = {};
		struct iovec into = { buffer, size };
		struct msghdr message = {
			.msg_name = &sender,
			.msg_namelen = sizeof(sender),
			.msg_iov = &into,
			.msg_iovlen = 1,
		};
		ssize_t got = recvmsg(fd, &message, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (message.msg_namelen != sizeof(sender) || sender.nl_pid)
			continue; /* of another process */
		if (message.msg_flags & MSG_TRUNC)
			return -EMSGSIZE;
		return got ?: -ENODATA;
	}
}

/* 1: the last message, -errno: an error, which the last message brings, too. */
static int end_of(const struct nlmsghdr *header)
{
	int error = 0;

	if (header->nlmsg_type != NLMSG_DONE && header->nlmsg_type != NLMSG_ERROR)
		return 0;
	if (header->nlmsg_len >= NLMSG_LENGTH(sizeof(error)))
		memcpy(&error, NLMSG_DATA(header), sizeof(error));
	if (error < 0)
		return error;
	return header->nlmsg_type == NLMSG_DONE ? 1 : -EPROTO;
}

int netlink_dump(int fd, struct nlmsghdr *question, const struct netlink_answer *answer)
{
	static uint32_t sequence;
	_Alignas(struct nlmsghdr) char buffer[32 * 1024];
	bool changed = false;

	question->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	question->nlmsg_seq = ++sequence;
	if (send(fd, question, question->nlmsg_len, 0) != (ssize_t)question->nlmsg_len)
		return -errno;
	for (;;) {
		ssize_t got = receive(fd, buffer, sizeof(buffer));
		int length = got;

		if (got < 0)
			return got;
		for (const struct nlmsghdr *header = (const void *)buffer; NLMSG_OK(header, length);
		     header = NLMSG_NEXT(header, length)) {
			int end;

			if (header->nlmsg_seq != sequence)
				continue;
			changed |= header->nlmsg_flags & NLM_F_DUMP_INTR;
			end = end_of(header);
			if (end)
				return end < 0 ? end : changed ? -EINTR : 0;
			if (header->nlmsg_type == answer->type &&
			    header->nlmsg_len >= NLMSG_LENGTH(answer->least_bytes))
				answer->each(header, answer->argument);
		}
	}
}

const void *netlink_attribute(const struct rtattr *attributes, int length, int type, size_t least_bytes, size_t *bytes)
{
	for (const struct rtattr *attribute = attributes; RTA_OK(attribute, length);
	     attribute = RTA_NEXT(attribute, length)) {
		*bytes = RTA_PAYLOAD(attribute);
		if ((attribute->rta_type & NLA_TYPE_MASK) == type && *bytes >= least_bytes)
			return RTA_DATA(attribute);
	}
	return NULL;
}
