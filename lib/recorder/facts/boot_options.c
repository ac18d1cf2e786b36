// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's command line, without all that may be secret: it can hold passwords and keys of early user space.  Options
 * of this list are kept, with values of plain letters; "quiet" and names of disks tell nobody why a host is slow.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include "facts/internal.h"

#define BOOT_OPTIONS_FACT "/proc/cmdline"
#define MOST_BYTES 64 /* of an option */

static const char *const KEPT[] = {
	/* CPUs, their clocks and idle states */
	"amd_pstate",
	"clocksource",
	"cpufreq.off",
	"cpuidle.off",
	"highres",
	"hpet",
	"idle",
	"intel_idle.max_cstate",
	"intel_pstate",
	"isolcpus",
	"maxcpus",
	"mitigations",
	"nohz",
	"nohz_full",
	"nosmp",
	"nosmt",
	"notsc",
	"nr_cpus",
	"nox2apic",
	"nolapic_timer",
	"processor.max_cstate",
	"skew_tick",
	"threadirqs",
	"tsc",
	/* memory */
	"debug_pagealloc",
	"init_on_alloc",
	"init_on_free",
	"kasan",
	"kfence.sample_interval",
	"kmemleak",
	"mem",
	"numa",
	"page_owner",
	"page_poison",
	"slab_debug",
	"slub_debug",
	"transparent_hugepage",
	/* interrupts and devices */
	"acpi",
	"amd_iommu",
	"intel_iommu",
	"iommu",
	"iommu.strict",
	"irqpoll",
	"noapic",
	"noirqbalance",
	"nolapic",
	"pci",
	"pcie_aspm",
	"pcie_aspm.policy",
	/* what watches and logs */
	"audit",
	"debug",
	"ftrace",
	"ignore_loglevel",
	"initcall_debug",
	"loglevel",
	"preempt",
	"prove_locking",
	"trace_event",
};

static bool is_kept(const char *word, size_t length)
{
	size_t name = strcspn(word, "=");

	if (length > MOST_BYTES ||
	    strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_.,:-=ABCDEFGHIJKLMNOPQRSTUVWXYZ") < length)
		return false;
	for (size_t i = 0; i < sizeof(KEPT) / sizeof(KEPT[0]); i++)
		if (strlen(KEPT[i]) == name && strncmp(KEPT[i], word, name) == 0)
			return true;
	return false;
}

/* What is between quotes is one value, whatever words are in it, and what stands behind "--" is for the first process. */
static size_t end_of_options(const struct fact_text *fact)
{
	const char *end = memmem(fact->text, fact->length, " -- ", 4);

	return end ? (size_t)(end + 1 - fact->text) : fact->length;
}

/* One option a line, in their order; the part of a word at a limit is none. */
void fact_cut_boot_options(const char *path, struct fact_text *fact)
{
	size_t kept = 0, at = 0, length;
	bool quoted = false;

	if (strcmp(path, BOOT_OPTIONS_FACT))
		return;
	length = end_of_options(fact);
	while (at < length) {
		char word[MOST_BYTES + 1];
		bool inside = quoted;
		size_t end = at;

		for (; end < length && fact->text[end] != ' ' && fact->text[end] != '\n'; end++)
			quoted ^= fact->text[end] == '"';
		snprintf(word, sizeof(word), "%.*s", (int)(end - at), fact->text + at);
		if (!inside && end < length && is_kept(word, end - at)) {
			memmove(fact->text + kept, fact->text + at, end - at);
			kept += end - at;
			fact->text[kept++] = '\n';
		}
		at = end + 1;
	}
	fact->length = kept;
}
