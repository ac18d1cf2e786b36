/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel fields that are read, as CO-RE types: the loader moves each access to where the running kernel has
 * the field.  A field that some kernels lack is asked for with bpf_core_field_exists() first; where its type or place
 * changed, compat.bpf.h knows.
 */
#pragma once
#include <linux/bpf.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

struct kernfs_node {
	const char *name;
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
	int level;
	struct cgroup *ancestors[];
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

enum cgroup_subsys_id { cpu_cgrp_id = 1 };

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct list_head cgrp_links;
};

struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct list_head cgrp_link;
};

struct rt_rq {
	int rt_throttled;
};

struct rq {
	__u64 prev_steal_time, prev_steal_time_rq;
	struct rt_rq rt;
};

struct cfs_rq {
	struct rq *rq;
	__u64 throttled_clock_self_time;
	int throttle_count;
};

struct sched_entity {
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct sigpending {
	struct {
		unsigned long sig[1];
	} signal;
};

struct kernel_siginfo {
	int si_code;
};

struct signal_struct {
	int nr_threads;
	struct sigpending shared_pending;
	struct {
		int counter;
	} live;
};

struct thread_info {
	__u32 status;
};

/* What a thread has reserved: SCHED_DEADLINE. */
struct sched_dl_entity {
	unsigned int dl_throttled : 1;
	unsigned int dl_yielded : 1;
};

/* What the architecture keeps of a thread; of x86 all that is wanted. */
struct thread_struct {
	unsigned long fsbase;
};

struct restart_block {
	void *fn;
};

struct io_context {
	unsigned short ioprio;
};

struct task_struct {
	struct thread_info thread_info;
	struct restart_block restart_block;
	unsigned int __state;
	unsigned int flags;
	unsigned int in_iowait : 1;
	unsigned int frozen : 1;
	unsigned int on_cpu;
	int exit_state, exit_code;
	int prio;
	unsigned int policy;
	unsigned long jobctl;
	int pid, tgid;
	int nr_dirtied;
	unsigned long dirty_paused_when;
	char comm[16];
	__u64 self_exec_id;
	__u64 utime, stime, gtime;
	unsigned long nvcsw;
	struct sched_entity se;
	struct sched_dl_entity dl;
	struct task_struct *group_leader, *real_parent, *parent;
	struct signal_struct *signal;
	struct sigpending pending;
	struct {
		unsigned long sig[1];
	} blocked;
	struct mm_struct *mm;
	struct files_struct *files;
	struct io_uring_task *io_uring;
	struct io_context *io_context;
	struct css_set *cgroups;
	struct pid *thread_pid;
	struct bpf_local_storage *bpf_storage;
	struct thread_struct thread;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bp, bx, r8, r10, cx, dx, si, di, orig_ax, ax, ip, sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 sp, pc, orig_x0;
	__s32 syscallno;
};
#else
#error "perfdiag knows the system call registers of x86-64 and arm64 only"
#endif

struct hrtimer {
	void *function;
};

/* See victim_is_task(). */
struct trace_event_raw_mark_victim {
	__u32 uid;
};

/* Where storage for a task comes from, see may_allocate_anywhere(). */
struct bpf_local_storage_map {
	bool bpf_ma, use_kmalloc_nolock;
};

struct bpf_local_storage {
	__u64 mem_charge;
};

/* See is_preemptible(). */
struct tp_transition_snapshot {
	unsigned long srcu_gp;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

#include "core/kernel/files.h"
#include "core/kernel/modules.h"
#include "core/kernel/network.h"
#include "core/kernel/rings.h"
#include "core/kernel/storage.h"

#pragma clang attribute pop

#include "core/kernel/constants.h"
