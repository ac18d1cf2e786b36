/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Questions to the kernel over netlink(7), answered by many messages of one type.  What others send to the socket is
 * left out: in its own network namespace a container may.
 */
#pragma once
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

/* A socket of NETLINK_SOCK_DIAG or NETLINK_ROUTE in the network namespace of the caller, or -errno. */
int netlink_open(int protocol);

/* What is awaited: messages of a type, with so many bytes behind their header at least. */
struct netlink_answer {
	uint16_t type;
	size_t least_bytes;
	void (*each)(const struct nlmsghdr *answer, void *argument);
	void *argument;
};

/*
 * Sends a question, whose header says all but flags and sequence, and calls each() for every message of the answer; 0 or
 * -errno: -EINTR where the kernel says that things changed meanwhile, so that some may be missing.
 */
int netlink_dump(int fd, struct nlmsghdr *question, const struct netlink_answer *answer);

/* Of [attributes, attributes + length) the one of a type with so many bytes at least, NULL: there is none. */
const void *netlink_attribute(const struct rtattr *attributes, int length, int type, size_t least_bytes, size_t *bytes);
