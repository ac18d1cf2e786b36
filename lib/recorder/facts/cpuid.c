// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the CPUID instruction tells a guest about the machine it runs on: who the hypervisor is, and what leaving the
 * guest costs, since this instruction always does.  Anybody may execute it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "facts/internal.h"
#include "base/monotonic.h"

#ifdef __x86_64__
#include "base/in_guest.h"

#define HYPERVISOR_LEAF 0x40000000
#define BATCHES 5 /* some 80 us on hardware, some 2 ms where a guest runs in a guest */
#define BATCH 8

/* Twelve characters, for instance "KVMKVMKVM". */
static void read_signature(struct fact_text *fact)
{
	unsigned int eax, words[3];

	__cpuid(HYPERVISOR_LEAF, eax, words[0], words[1], words[2]);
	memcpy(fact->text, words, sizeof(words));
	fact->length = strnlen(fact->text, sizeof(words));
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *one = a, *two = b;

	return *one < *two ? -1 : *one > *two;
}

/* The median of some batches: an interrupt, or the host taking the CPU away, spoils one or two. */
static void read_price(struct fact_text *fact)
{
	uint64_t took[BATCHES];

	for (int i = 0; i < BATCHES; i++) {
		uint64_t begin = now_ns(), end;
		unsigned int eax, ebx, ecx, edx;

		for (int j = 0; j < BATCH; j++)
			__cpuid(0, eax, ebx, ecx, edx);
		end = now_ns();
		took[i] = end - begin;
		/* Reading the clock is not cheap everywhere. */
		begin = now_ns() - end;
		took[i] -= took[i] < begin ? took[i] : begin;
	}
	qsort(took, BATCHES, sizeof(*took), by_value);
	fact->length = snprintf(fact->text, sizeof(fact->text), "%" PRIu64 "\n", took[BATCHES / 2] / BATCH);
}

void fact_read_cpuid(const char *path, struct fact_text *fact)
{
	if (!in_guest())
		fact->error = ENODEV;
	else if (!strcmp(path, CPUID_FACTS "/hypervisor"))
		read_signature(fact);
	else
		read_price(fact);
}
#else
void fact_read_cpuid(const char *path, struct fact_text *fact)
{
	(void)path;
	fact->error = ENOSYS;
}
#endif
