/* SPDX-License-Identifier: GPL-2.0-only */
/* Descriptors that travel with bytes through a socket of the AF_UNIX family. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#define DESCRIPTORS_MAX 2

/* 0 once all the bytes are sent, or -errno. */
int send_with_descriptors(int to, const void *bytes, size_t length, const int *descriptors, int count);
/* Receives once: returns the number of bytes, 0 at the end, or -errno.  `descriptors` gets those that came, then -1s. */
ssize_t receive_with_descriptors(int from, void *bytes, size_t size, int *descriptors, int most);
