// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include "base/netlink.h"

int netlink_open(int protocol)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, protocol);

	return fd < 0 ? -errno : fd;
}

int netlink_read(int fd, uint16_t type, void (*each)(const struct nlmsghdr *answer, void *argument), void *argument)
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
			if (header->nlmsg_type == type)
				each(header, argument);
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
