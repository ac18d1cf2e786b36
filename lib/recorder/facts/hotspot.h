/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of a Java virtual machine of HotSpot (PerfMemory), read out of its memory: no file, no agent, no attach.
 * Everything read there is what the target says and may be a lie: lengths are bounded, and an address is no more than
 * a place to read from, through /proc/PID/mem, where a wrong one is an error.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hotspot_layout.h"
#include "facts/internal.h"

/* Whether a thread is called as a virtual machine calls one of its own: asking that waits for nothing. */
bool hotspot_suspected(pid_t pid);

/* Where PerfMemory begins: 0, -ENODATA without one (-XX:-UsePerfData), -ENOENT or -ENOEXEC. */
int hotspot_perf_memory(struct loaded_object *library, uint64_t *address);

#define PERF_MEMORY_MAX (512 * 1024) /* 32 KiB, unless -XX:PerfDataMemorySize says otherwise */
#define PERF_MEMORY_HEAD 32
/* How many bytes of it are in use, by its head; 0: it is none. */
size_t perf_memory_used(const void *head);
/* Writes "NAME VALUE" lines of the counters that a report needs; none that holds arguments or properties. */
void perf_memory_text(const uint8_t *memory, size_t length, size_t limit, struct fact_text *fact);
