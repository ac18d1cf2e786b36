/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets in other network namespaces.  To enter one takes CAP_SYS_ADMIN, which is nearly all that root may do.  So a
 * child alone keeps it: it is handed a namespace, and hands back a socket for sock_diag(7) that was opened there.  It
 * reads nothing that a target has written.
 */
#pragma once

/* Forks the child, while the privilege is there; without it namespaces_socket() is refused. */
void namespaces_start(void);
/* For a child that closes all descriptors from `fd` on: what leads to the namespaces becomes `fd`.  The next free one. */
int namespaces_move(int fd);
/*
 * A socket in the network namespace that `namespace` is a descriptor of, and that namespace's limit of accept queues
 * (-1: unknown); or -errno.
 */
int namespaces_socket(int namespace, int *somaxconn);
int own_somaxconn(void); /* of the caller's */
