/* SPDX-License-Identifier: GPL-2.0-only */
/* The thread of a virtual CPU that blocks: its guest is idle, or what? */
#pragma once
#include "core/maps.bpf.h"

#if defined(__TARGET_ARCH_x86)
#define IOCTL 16
#else
#define IOCTL 29
#endif
#define KVM_RUN 0xae80

/* Exit codes: arch/x86/include/uapi/asm/svm.h and vmx.h, arch/arm64/include/asm/esr.h. */
/* The guest has nothing to do. */
static __always_inline bool is_halt_exit(__u64 exit)
{
	switch (OBJECT_ID(exit)) {
	case VM_EXIT_ID(VM_SVM, 0x78):		   /* HLT */
	case VM_EXIT_ID(VM_SVM, 0xa6):		   /* IDLE_HLT */
	case VM_EXIT_ID(VM_VMX, 12):		   /* HLT */
	case VM_EXIT_ID(VM_ARM64, 1): return true; /* WFI */
	}
	return false;
}

/* The guest touched memory that its host has not got at hand. */
static __always_inline bool is_fault_exit(__u64 exit)
{
	switch (OBJECT_ID(exit)) {
	case VM_EXIT_ID(VM_SVM, 0x400):		      /* NPF */
	case VM_EXIT_ID(VM_VMX, 48):		      /* EPT_VIOLATION */
	case VM_EXIT_ID(VM_ARM64, 0x20):	      /* IABT_LOW */
	case VM_EXIT_ID(VM_ARM64, 0x24): return true; /* DABT_LOW */
	}
	return false;
}

static __always_inline bool is_in_kvm_run(struct call *call)
{
	return call->number == IOCTL && !call->i386 && !call->returning && (__u32)call->arguments[1] == KVM_RUN;
}

/*
 * In KVM_RUN a light sleep is that of kvm_vcpu_block(), or that of a page which user space supplies ("kvm: x86: Allow
 * to respond to generic signals during slow PF", v6.2): its stack tells.  After a halt it is not asked: halts are many.
 */
static __always_inline bool may_want_page(struct record *record, struct call *call)
{
	return is_in_kvm_run(call) && !(record->vm == VM_EXIT && is_halt_exit(record->left.exit));
}

/*
 * The account of a wait of such a thread; `account` and `object` are what its system call, or its stack, says.  A guest
 * that halted is idle, in the kernel or, where the emulator keeps the interrupt controller, in a wait of that.  One
 * that waits since it touched memory waits for its host to fetch that (kvm_arch_async_page_not_present()).  A virtual
 * CPU that was not seen leaving its guest has halted before the start, or waits to be started by another one.
 */
static __always_inline __u32 vcpu_account(struct record *record, struct call *call, bool deep, __u32 account,
					  __u64 object)
{
	bool handles = record->vm == VM_EXIT;

	/* What is shown to be something else (stopped, reclaiming, waiting for a page of user space) is no halt. */
	if (!deep && is_in_kvm_run(call) && OBJECT_KIND(object) == OBJECT_SYSCALL)
		return handles && is_fault_exit(record->left.exit) ? ACCOUNT_MEMORY_MAJOR_FAULT : ACCOUNT_VM_HALT;
	if (!handles || !is_idle(account) || account == ACCOUNT_WAIT_STOPPED)
		return account;
	if (is_halt_exit(record->left.exit))
		return ACCOUNT_VM_HALT;
	/*
	 * Whoever handles an exit may wait for a lock (most emulators have one around all devices), not for time or
	 * events: then the exit is over, and the thread has other things to do.
	 */
	if (account != ACCOUNT_WAIT_PARKED) {
		record->vm = VM_LEFT;
		record->left.until = record->since;
	}
	return account;
}
