/* SPDX-License-Identifier: GPL-2.0-only */
/* Asking the kernel about its TCP sockets: sock_diag(7).  It loads its module tcp_diag for the answer, as for ss(8). */
#pragma once
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <stddef.h>

/*
 * fd: of netlink_open(NETLINK_SOCK_DIAG).  each() is called for every socket of both families that the request selects;
 * 0 or -errno.
 */
int sock_diag_dump(int fd, const struct inet_diag_req_v2 *request,
		   void (*each)(const struct nlmsghdr *answer, void *argument), void *argument);

/* An attribute of an answer, NULL: it has none of so many bytes. */
const void *sock_diag_attribute(const struct nlmsghdr *answer, int type, size_t least_bytes, size_t *bytes);
