/* SPDX-License-Identifier: GPL-2.0-only */
/* Questions to the kernel over netlink(7), answered by many messages of one type. */
#pragma once
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

/* A socket of NETLINK_SOCK_DIAG or NETLINK_ROUTE in the network namespace of the caller, or -errno. */
int netlink_open(int protocol);

/* each() is called for every message of a type until the answer to a dump ends; 0 or -errno. */
int netlink_read(int fd, uint16_t type, void (*each)(const struct nlmsghdr *answer, void *argument), void *argument);

/* Of [attributes, attributes + length) the one of a type with so many bytes at least, NULL: there is none. */
const void *netlink_attribute(const struct rtattr *attributes, int length, int type, size_t least_bytes, size_t *bytes);
