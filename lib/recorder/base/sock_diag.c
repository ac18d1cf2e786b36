// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include "base/netlink.h"
#include "base/sock_diag.h"

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

int sock_diag_dump(int fd, const struct inet_diag_req_v2 *request,
		   void (*each)(const struct nlmsghdr *answer, void *argument), void *argument)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	int err = 0;

	for (size_t i = 0; i < sizeof(families) / sizeof(*families) && !err; i++) {
		err = ask(fd, request, families[i]);
		if (!err)
			err = netlink_read(fd, SOCK_DIAG_BY_FAMILY, each, argument);
	}
	return err;
}

const void *sock_diag_attribute(const struct nlmsghdr *answer, int type, size_t least_bytes, size_t *bytes)
{
	const struct inet_diag_msg *message = NLMSG_DATA(answer);

	return netlink_attribute((const void *)(message + 1),
				 (int)answer->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*message)), type, least_bytes,
				 bytes);
}
