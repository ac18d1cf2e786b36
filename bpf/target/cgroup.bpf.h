/* SPDX-License-Identifier: GPL-2.0-only */
/* Is a task in the control group that is followed, or in one below it? */
#pragma once
#include "core/maps.bpf.h"

#define HIERARCHIES 32 /* 14 controllers, version 2, and named ones */
#define GROUP_DEPTH 32

static __always_inline struct cgroup *ancestor_of(struct cgroup *group, int level)
{
	struct cgroup **ancestors = (void *)group + bpf_core_field_offset(struct cgroup, ancestors), *ancestor = NULL;

	bpf_probe_read_kernel(&ancestor, sizeof(ancestor), ancestors + level);
	return ancestor;
}

static __always_inline bool in_followed_hierarchy(struct cgroup *group)
{
	return BPF_CORE_READ(group, root, hierarchy_id) == knobs.group.hierarchy;
}

/* How a pointer into the kernel comes into a global function, at which the verifier looks once. */
struct address {
	__u64 value;
};

__weak __noinline int is_followed(struct address *address)
{
	struct cgroup *group;
	int level;

	if (!address)
		return 0;
	group = (void *)address->value;
	level = BPF_CORE_READ(group, level);
	for (int i = 0; i < GROUP_DEPTH && i <= level; i++)
		if (BPF_CORE_READ(ancestor_of(group, i), kn, id) == knobs.group.id)
			return true;
	return false;
}

/* A task is in one group of each hierarchy. */
__weak __noinline int in_followed_group(struct address *address)
{
	struct list_head *head, *next;
	struct task_struct *task;

	if (!address || !knobs.group.id)
		return false;
	task = (void *)address->value;
	head = (void *)BPF_CORE_READ(task, cgroups) + bpf_core_field_offset(struct css_set, cgrp_links);
	next = head;
	for (int i = 0; i < HIERARCHIES; i++) {
		struct cgrp_cset_link *link;
		struct cgroup *group;

		next = BPF_CORE_READ(next, next);
		if (!next || next == head)
			return false;
		link = (void *)next - bpf_core_field_offset(struct cgrp_cset_link, cgrp_link);
		group = BPF_CORE_READ(link, cgrp);
		if (in_followed_hierarchy(group))
			return is_followed(&(struct address){ (__u64)group });
	}
	return false;
}
