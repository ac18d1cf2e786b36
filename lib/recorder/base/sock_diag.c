// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include "base/sock_diag.h"

int sock_diag_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

static int ask(int fd, const struct inet_diag_req_v2 *request, uint8_t family)
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
		.request = *request,
	};

	message.request.sdiag_family = family;
	message.request.sdiag_protocol = IPPROTO_TCP;
	return send(fd, &message, sizeof(message), 0) == sizeof(message) ? 0 : -errno;
}

/* 0 at the end of the answer. */
static int read_answer(int fd, void (*each)(const struct nlmsghdr *answer, void *argument), void *argument)
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
				each(header, argument);
		}
	}
}

int sock_diag_dump(int fd, const struct inet_diag_req_v2 *request,
		   void (*each)(const struct nlmsghdr *answer, void *argument), void *argument)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	int err = 0;

	for (size_t i = 0; i < sizeof(families) / sizeof(*families) && !err; i++) {
		err = ask(fd, request, families[i]);
		if (!err)
			err = read_answer(fd, each, argument);
	}
	return err;
}

const void *sock_diag_attribute(const struct nlmsghdr *answer, int type, size_t least_bytes, size_t *bytes)
{
	const struct inet_diag_msg *message = NLMSG_DATA(answer);
	int length = (int)answer->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*message));

	for (const struct rtattr *attribute = (const void *)(message + 1); RTA_OK(attribute, length);
	     attribute = RTA_NEXT(attribute, length)) {
		*bytes = RTA_PAYLOAD(attribute);
		if (attribute->rta_type == type && *bytes >= least_bytes)
			return RTA_DATA(attribute);
	}
	return NULL;
}
