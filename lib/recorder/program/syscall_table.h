/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls by number, in the native table and, on x86-64, in that of 32-bit programs ("i386").  Names come from
 * the system's headers (syscall_names.sh), so each architecture has its own.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "wait/syscall_class.h" /* in bpf/ */

#define SYSCALL_TABLE_SIZE 512

/* SYSCALL_NONE for a number this build does not know: the kernel may be newer than its headers. */
uint8_t syscall_class_native(unsigned int nr);
uint8_t syscall_class_i386(unsigned int nr);
uint8_t syscall_argument(unsigned int nr);		  /* native: enum argument_kind with the place */
const char *syscall_name(unsigned int nr, bool i386);	  /* NULL: unknown */
unsigned int syscall_number(const char *name, bool i386); /* SYSCALL_TABLE_SIZE: unknown */
