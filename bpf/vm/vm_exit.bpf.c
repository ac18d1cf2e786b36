// SPDX-License-Identifier: GPL-2.0-only
/*
 * vm_exit - on the host of virtual machines: when does a virtual CPU run its guest, why does it leave it, how long does
 *       that take, and which emulated device is it for?
 *
 * HOOKS   tp_btf kvm_entry, kvm_exit, kvm_userspace_exit, kvm_vcpu_wakeup; kvm_pio, kvm_mmio, kvm_fast_mmio.  All are
 *         of the modules kvm and kvm_amd or kvm_intel, and loaded only where there is a /dev/kvm.
 * COST    a look-up of task storage at an entry and an exit of every guest of the host; of the target's also the clock,
 *         a detail of the record, and at an entry one look-up in a hash.
 * CANNOT  say what the guest did; see exits that the hardware spares (posted interrupts, AVIC).  A page that user
 *         space supplies (userfaultfd), wanted by the kernel itself while a halt begins or ends, is vm.halt.  On SVM
 *         before 6.7 an exit begins when the host has served its own interrupts, which are booked as cpu.irq.  On a
 *         host that is a guest itself, what is stolen from a virtual CPU's thread between two exits stays in vm.*.
 */
#include "core/ledger.bpf.h"
#include "vm/vcpu.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct vm_exit_key);
	__type(value, struct vm_exit_sum);
} vm_exits SEC(".maps");

/* Of a guest that touches thousands of ports or pages, the first ones: the others are told without. */
#define MOST_DEVICES 3072

__u32 vm_devices;

static __always_inline struct vm_exit_sum *sum_of(struct vm_exit_key *key)
{
	struct vm_exit_sum *sum = bpf_map_lookup_elem(&vm_exits, key);

	if (sum)
		return sum;
	if (key->device && vm_devices >= MOST_DEVICES) {
		key->device = 0;
		sum = bpf_map_lookup_elem(&vm_exits, key);
		if (sum)
			return sum;
	}
	if (key->device)
		__sync_fetch_and_add(&vm_devices, 1);
	return FIND_OR_MAKE(vm_exits, key, COUNTER_VM_EXITS_FULL, NULL);
}

/* The guest goes on: what it was left for is over, unless that was so before. */
static __always_inline void count_exit(struct record *record, __u64 now)
{
	__u64 until = record->vm == VM_LEFT ? record->left.until : now, ns = until - record->left.since;
	struct vm_exit_key key = { .exit = record->left.exit, .device = record->left.device, .tgid = record->tgid };
	struct vm_exit_sum *sum;

	if (record->taken)
		return;
	key.user = record->left.user;
	sum = sum_of(&key);
	if (!sum)
		return;
	ns = ns > record->left.halted_ns ? ns - record->left.halted_ns : 0;
	sum->count++;
	sum->ns += ns;
	sum->running_ns += record->left.ran_ns;
	sum->halted_ns += record->left.halted_ns;
	sum->polled_ns += record->left.polled_ns;
	if (ns > sum->max_ns)
		sum->max_ns = ns;
	count_in(sum->buckets, ns);
}

/*
 * The record of the current task, if it is one that books now.  At an entry and an exit it books without KEEP_CPU():
 * where programs can be preempted at all (7.0 on), KVM tells of both with preemption off.
 */
static __always_inline struct record *running_record(void)
{
	struct record *record = record_of(bpf_get_current_task_btf());

	return record && record->state == STATE_RUNNING ? record : NULL;
}

SEC("tp_btf/kvm_entry")
int BPF_PROG(kvm_entry)
{
	struct record *record = running_record();
	__u64 now;

	if (!record)
		return 0;
	now = bpf_ktime_get_ns();
	begin_write(record);
	book_running(record, this_cpu(), 0, now);
	if (record->vm == VM_EXIT || record->vm == VM_LEFT)
		count_exit(record, now);
	record->vm = VM_GUEST;
	end_write(record);
	return 0;
}

static __always_inline int leave_guest(__u32 vendor, __u32 code)
{
	struct record *record = running_record();
	__u64 now;

	if (!record)
		return 0;
	now = bpf_ktime_get_ns();
	begin_write(record);
	if (record->vm == VM_NONE)
		record->vm = VM_GUEST; /* since before its record was made */
	book_running(record, this_cpu(), 0, now);
	record->vm = VM_EXIT;
	__builtin_memset(&record->left, 0, sizeof(record->left));
	record->left.exit = OBJECT(OBJECT_VM_EXIT, VM_EXIT_ID(vendor, code));
	record->left.since = now;
	end_write(record);
	return 0;
}

#if defined(__TARGET_ARCH_x86)
/* Types of modules: bpf_rdonly_cast() knows those of the kernel itself only. */
static __always_inline __u32 svm_exit_code(void *vcpu)
{
	struct vcpu_svm *svm = vcpu;
	struct vmcb *vmcb = NULL;
	__u32 code = 0;

	if (!bpf_core_type_exists(struct vcpu_svm))
		return code;
	bpf_core_read(&vmcb, sizeof(vmcb), &svm->vmcb);
	bpf_core_read(&code, sizeof(code), &vmcb->control.exit_code);
	return code;
}

/* "KVM: x86: Get exit_reason as part of kvm_x86_ops.get_exit_info", v5.16: it is no argument any more. */
SEC("tp_btf/kvm_exit")
int BPF_PROG(kvm_exit, void *vcpu, __u32 isa)
{
	__u32 code;

	if (!vcpu) /* never: but verifiers since 6.12 want to be told, before they let it be read */
		return 0;
	code = isa == VM_SVM ? svm_exit_code(vcpu) : isa == VM_VMX ? vmx_exit_code(vcpu) : 0;

	return leave_guest(isa, code);
}
#else
#define ARM_EXCEPTION_TRAP 2

SEC("tp_btf/kvm_exit")
int BPF_PROG(kvm_exit, int result, unsigned int class)
{
	return leave_guest(VM_ARM64, result == ARM_EXCEPTION_TRAP ? class : 0x1000 | (result & 0xfff));
}
#endif

/* include/uapi/linux/kvm.h */
enum { KVM_EXIT_SHUTDOWN = 8, KVM_EXIT_FAIL_ENTRY = 9, KVM_EXIT_INTR = 10, KVM_EXIT_INTERNAL_ERROR = 17 };

/* Back to user space: to have the exit handled, or because a signal or the guest's end interrupts it. */
SEC("tp_btf/kvm_userspace_exit")
int BPF_PROG(kvm_userspace_exit, __u32 reason, int error)
{
	struct record *record = running_record();

	if (!record || record->vm != VM_EXIT)
		return 0;
	if (!error && reason != KVM_EXIT_SHUTDOWN && reason != KVM_EXIT_FAIL_ENTRY && reason != KVM_EXIT_INTR &&
	    reason != KVM_EXIT_INTERNAL_ERROR) {
		record->left.user = 1;
		return 0;
	}
	return leave_vm();
}

/* kvm_vcpu_halt() was busy first, and did not have to sleep. */
SEC("tp_btf/kvm_vcpu_wakeup")
int BPF_PROG(kvm_vcpu_wakeup, __u64 ns, bool waited)
{
	struct record *record = running_record();

	if (record && record->vm == VM_EXIT && !waited)
		record->left.polled_ns += ns;
	return 0;
}

/* The first device that is touched stands for the exit. */
static __always_inline int note_device(__u64 device)
{
	struct record *record = running_record();

	if (record && record->vm != VM_GUEST && !record->left.device)
		record->left.device = device;
	return 0;
}

#if defined(__TARGET_ARCH_x86)
SEC("tp_btf/kvm_pio")
int BPF_PROG(kvm_pio, unsigned int write, unsigned int port)
{
	return note_device(VM_PORT(port & 0xffff));
}

/* A write that only rings somebody (virtio): nothing is emulated. */
SEC("tp_btf/kvm_fast_mmio")
int BPF_PROG(kvm_fast_mmio, __u64 address)
{
	return note_device(VM_PAGE(address));
}
#endif

SEC("tp_btf/kvm_mmio")
int BPF_PROG(kvm_mmio, int kind, int length, __u64 address)
{
	return note_device(VM_PAGE(address));
}
