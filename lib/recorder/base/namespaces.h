/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets and settings of other network namespaces.  To enter one takes CAP_SYS_ADMIN, which is nearly all that root may
 * do.  So only one child keeps it, the server: it is sent a namespace, and sends back a socket of netlink(7), or a file
 * of /proc/sys/net, opened there.  It reads nothing that a target has written.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

/* Forks the child, while the privilege is there; without it namespaces_socket() is refused. */
void namespaces_start(void);
/* For a child that closes all others: moves the socket to the server to `fd`.  Returns the first one to close. */
int namespaces_move(int fd);
/*
 * A socket of NETLINK_SOCK_DIAG or NETLINK_ROUTE in the network namespace of a process, whether that is the caller's, and
 * the namespace's limit of accept queues (-1: unknown); or -errno.
 */
int namespaces_socket(pid_t pid, int protocol, bool *own, int *somaxconn);
/* Whether a process lives in the network namespace of the caller; false, too, if it has ended. */
bool namespaces_is_own(pid_t pid);
/*
 * A file below /proc/sys/net, opened in the network namespace of a process: whoever reads it reads the setting there.
 * Or -errno; -ENOENT: that namespace does not have the setting; -ESRCH: the process has ended.
 */
int namespaces_setting(pid_t pid, const char *setting);
