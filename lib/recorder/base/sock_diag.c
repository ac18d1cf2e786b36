// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include "base/netlink.h"
#include "base/sock_diag.h"

static int dump_family(int fd, const struct inet_diag_req_v2 *request, uint8_t family,
		       const struct netlink_answer *answer)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} question = {
		.header = { .nlmsg_len = sizeof(question), .nlmsg_type = SOCK_DIAG_BY_FAMILY },
		.request = *request,
	};

	question.request.sdiag_family = family;
	question.request.sdiag_protocol = IPPROTO_TCP;
	return netlink_dump(fd, &question.header, answer);
}

/* Sockets come and go while they are told: that some may be missing is no error. */
int sock_diag_dump(int fd, const struct inet_diag_req_v2 *request,
		   void (*each)(const struct nlmsghdr *answer, void *argument), void *argument)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	const struct netlink_answer answer = { SOCK_DIAG_BY_FAMILY, sizeof(struct inet_diag_msg), each, argument };
	int err = 0;

	for (size_t i = 0; i < sizeof(families) / sizeof(*families) && !err; i++) {
		err = dump_family(fd, request, families[i], &answer);
		if (err == -EINTR)
			err = 0;
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
