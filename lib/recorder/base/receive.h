/* SPDX-License-Identifier: GPL-2.0-only */
/* What a child sends through a pipe or socket, in however many parts it comes. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/*
 * Receives exactly `length` bytes: 0, -ENODATA (they ended before), or another error.  wait() returns 0 once there is
 * something to read; anything else ends it.
 */
int receive(int fd, void *bytes, size_t length, int (*wait)(const void *argument), const void *argument);
/* 0 once there is something to read, or its end; -ETIMEDOUT at a deadline of monotonic_ms(). */
int wait_readable_by(int fd, int64_t deadline_ms);
/* By a deadline of monotonic_ms(), or -ETIMEDOUT. */
int receive_by(int fd, void *bytes, size_t length, int64_t deadline_ms);
