/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets in other network namespaces.  To enter one takes CAP_SYS_ADMIN, which is nearly all that root may do.  So
 * only one child keeps it, the server: it is sent a namespace, and sends back a socket for sock_diag(7) opened there.
 * It reads nothing that a target has written.
 */
#pragma once

/* Forks the child, while the privilege is there; without it namespaces_socket() is refused. */
void namespaces_start(void);
/* For a child that closes all others: moves the socket to the server to `fd`.  Returns the first one to close. */
int namespaces_move(int fd);
/*
 * A socket in the network namespace that `namespace` is a descriptor of, and that namespace's limit of accept queues
 * (-1: unknown); or -errno.
 */
int namespaces_socket(int namespace, int *somaxconn);
int own_somaxconn(void); /* of the caller's */
