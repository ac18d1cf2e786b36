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

struct ancestor_search {
	__u64 group;
	__u32 level, found;
};

static long try_ancestor(__u32 level, struct ancestor_search *search)
{
	struct cgroup *ancestor = ancestor_of((void *)search->group, level);

	search->found = BPF_CORE_READ(ancestor, kn, id) == knobs.group.id;
	return search->found || level >= search->level;
}

__weak __noinline int is_followed(struct address *address)
{
	struct ancestor_search search = {};
	struct cgroup *group;

	if (!address)
		return 0;
	group = (void *)address->value;
	search.group = address->value;
	search.level = BPF_CORE_READ(group, level);
	bpf_loop(GROUP_DEPTH, try_ancestor, &search, 0);
	return search.found;
}

struct group_search {
	__u64 head, next; /* of the list of groups */
	__u64 group;	  /* in the hierarchy; 0: not found */
};

static long try_group(__u32 number, struct group_search *search)
{
	struct list_head *next = (void *)search->next;
	struct cgrp_cset_link *link;
	struct cgroup *group;

	next = BPF_CORE_READ(next, next);
	if (!next || (__u64)next == search->head)
		return 1;
	search->next = (__u64)next;
	link = (void *)next - bpf_core_field_offset(struct cgrp_cset_link, cgrp_link);
	group = BPF_CORE_READ(link, cgrp);
	if (!in_followed_hierarchy(group))
		return 0;
	search->group = (__u64)group;
	return 1;
}

/* A task is in one group of each hierarchy. */
__weak __noinline int in_followed_group(struct address *address)
{
	struct group_search search = {};
	struct task_struct *task;

	if (!address || !knobs.group.id)
		return false;
	task = (void *)address->value;
	search.head = (__u64)BPF_CORE_READ(task, cgroups) + bpf_core_field_offset(struct css_set, cgrp_links);
	search.next = search.head;
	bpf_loop(HIERARCHIES, try_group, &search, 0);
	return search.group && is_followed(&(struct address){ search.group });
}
