/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Variables that a program or a library exports, found in the memory of the process that runs it: no file is opened, so
 * that it may have been replaced on disk, or be in another mount namespace.  Everything read there is what the process
 * says and may be a lie: an address is no more than a place to read from, through /proc/PID/mem, where a wrong one is an
 * error.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loaded_object {
	int memory; /* descriptor of /proc/PID/mem */
	uint64_t start, end;
	uint64_t bias, symbols, names, hash; /* its tables, once they were read; hash 0: they were not */
	bool old_hash;			     /* DT_HASH: it has no DT_GNU_HASH, as a libjvm.so of before JDK 17 */
};

/* The whole length or nothing. */
bool memory_read(int memory, uint64_t address, void *to, size_t length);
/* Whether this text, with the zero behind it, is at an address. */
bool memory_says(int memory, uint64_t address, const char *text);
/* The text at an address; false: it does not end within size bytes. */
bool memory_text(int memory, uint64_t address, char *text, size_t size);
/* Where the object's dynamic symbol `name` is, with its tables from the first time on: 0, -ENOENT, or -ENOEXEC where its tables make no sense. */
int memory_symbol(struct loaded_object *object, const char *name, uint64_t *address);
