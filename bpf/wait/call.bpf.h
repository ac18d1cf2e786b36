/* SPDX-License-Identifier: GPL-2.0-only */
/* The system call that a task is in: has it one, and what kind of wait can that be? */
#pragma once
#include "core/maps.bpf.h"
#include "wait/syscall_class.h"

#ifdef LEDGER_DEFINE
const volatile __u8 syscall_classes[512];
const volatile __u8 syscall_classes_i386[512];
#else
extern const volatile __u8 syscall_classes[512];
extern const volatile __u8 syscall_classes_i386[512];
#endif

/* Kernel and io workers carry their creator's stale registers. */
static __always_inline bool makes_calls(__u32 flags)
{
	return !(flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

static __always_inline __u32 class_of(struct call *call)
{
	__u64 number = call->number;

	if (number >= 512)
		return SYSCALL_NONE;
	return call->i386 ? syscall_classes_i386[number] : syscall_classes[number];
}

/* The call that a task is in. */
static __always_inline __u64 call_object(const struct call *call)
{
	return OBJECT(OBJECT_SYSCALL, call->number | (call->i386 ? OBJECT_SYSCALL_I386 : 0));
}
