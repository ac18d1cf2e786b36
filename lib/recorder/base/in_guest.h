/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether this is a virtual machine: a bit that every hypervisor sets, on processors where CPUID shows it. */
#pragma once
#include <cpuid.h>
#include <stdbool.h>

#define HYPERVISOR_PRESENT (1U << 31) /* CPUID leaf 1, ECX */

static inline bool in_guest(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & HYPERVISOR_PRESENT);
}
