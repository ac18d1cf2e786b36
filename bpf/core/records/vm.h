/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h that is about virtual CPUs; included there. */
#pragma once

/*
 * The thread of a virtual CPU: in its guest or, from an exit to the next entry, handling that, in the kernel or back in
 * user space.  It has left when user space has other things to do before the guest can go on.
 */
enum vm { VM_NONE, VM_GUEST, VM_EXIT, VM_LEFT };

/* Who numbered an exit code; the first two as the kernel's KVM_ISA_VMX and KVM_ISA_SVM. */
enum vm_vendor { VM_VMX = 1, VM_SVM = 2, VM_ARM64 = 3 };

#define VM_EXIT_ID(vendor, code) ((__u64)(vendor) << 32 | (__u32)(code))

#define VM_PORT(number) (1ULL << 60 | (number))
#define VM_PAGE(address) (2ULL << 60 | ((address)&0xffffffffff000ULL))

/* What a guest was left for last, so far. */
struct vm_left {
	__u64 exit;	 /* OBJECT_VM_EXIT */
	__u64 device;	 /* VM_PORT or VM_PAGE touched meanwhile, 0: none */
	__u64 since;	 /* when its guest was left */
	__u64 until;	 /* when that was over, if before the guest went on: VM_LEFT */
	__u64 ran_ns;	 /* on a CPU for it */
	__u64 halted_ns; /* the guest being idle */
	__u64 polled_ns; /* busy until its halt ended */
	__u64 user;	 /* user space was asked to handle it */
};

/* Exits of one process for one reason, by what they touched and whether user space was asked. */
struct vm_exit_key {
	__u64 exit;   /* OBJECT_VM_EXIT */
	__u64 device; /* VM_PORT, VM_PAGE or 0 */
	__u32 tgid;
	__u32 user;
};

struct vm_exit_sum {
	__u64 count, ns, max_ns; /* from exit to entry, less the time that the guest was idle */
	__u64 running_ns;	 /* of that, on a CPU for it: vm.exit */
	__u64 halted_ns;	 /* guest idle meanwhile */
	__u64 polled_ns;	 /* of running_ns, waiting for the end of a halt */
	__u32 buckets[BUCKETS];
};

/* Where the thread of a virtual CPU books what it would book to `account` while running: regions are further in. */
static inline __u32 vm_account(__u32 vm, __u32 account)
{
	if (account != ACCOUNT_CPU_USER || vm == VM_NONE || vm == VM_LEFT)
		return account;
	return vm == VM_GUEST ? ACCOUNT_VM_GUEST : ACCOUNT_VM_EXIT;
}
