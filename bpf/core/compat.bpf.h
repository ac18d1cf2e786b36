/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every difference between kernels and processors, each with its commit.  Features are tested for, never versions.
 */
#pragma once
#include "core/kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/*
 * A field of a kernel object.  Where the kernel lets a pointer be named as of a type, the load is one instruction that
 * yields 0 where it would fault, at a tenth of the price of a checked read; and the verifier does not search the names
 * of all types, as for every pointer loaded from one it trusts.  __builtin_expect(): then the compiler puts all checked
 * reads at the end of a function, and the verifier removes them in one piece.
 * a35b9af4ec2c ("bpf: Add a kfunc for generic type cast"), v6.2.
 */
#ifdef LEDGER_DEFINE /* the object linked first declares it as the kernel's: libbpf 1.1 cannot link two that do */
extern void *bpf_rdonly_cast(void *object, __u32 type) __ksym __weak;
const volatile bool has_rdonly_cast;
#else
extern void *bpf_rdonly_cast(void *object, __u32 type) __weak;
extern const volatile bool has_rdonly_cast;
#endif
#define CAST(type, object) ((struct type *)bpf_rdonly_cast(object, bpf_core_type_id_kernel(struct type)))

#define LOAD(type, object, field)                                                                                      \
	({                                                                                                             \
		struct type *loaded_from = (struct type *)(object);                                                    \
		typeof(loaded_from->field) loaded;                                                                     \
		if (__builtin_expect(has_rdonly_cast, true))                                                           \
			loaded = CAST(type, loaded_from)->field;                                                       \
		else                                                                                                   \
			bpf_core_read(&loaded, sizeof(loaded), &loaded_from->field);                                   \
		loaded;                                                                                                \
	})

/* Of an object that the verifier trusts: without the cast a plain load, which needs no check. */
#define LOAD_TRUSTED(type, object, field)                                                                              \
	(__builtin_expect(has_rdonly_cast, true) ? CAST(type, (void *)(object))->field : (object)->field)

/*
 * A number of bytes, bounded.  The compiler compares one register and passes on another one, which the verifier of Linux 6.1
 * takes for unbounded.
 */
static __always_inline __u64 at_most(__u64 bytes, __u64 most)
{
	barrier_var(bytes);
	if (bytes > most)
		bytes = most;
	return bytes;
}

/*
 * What stands at an address of the kernel's, a pointer as a rule, as a number: the verifier computes little with pointers
 * that it knows to be such, so it is loaded as of a type that begins with a number.
 */
#define LOAD_NUMBER(address) ((__u64)LOAD(rb_node, address, __rb_parent_color))

/*
 * Does a tracepoint leave preemption as it finds it?  Before, it was off while programs ran.  "tracing: Guard
 * __DECLARE_TRACE() use of __DO_TRACE_CALL() with SRCU-fast", v7.0, which brought the field.
 */
static __always_inline bool is_preemptible(void)
{
	return bpf_core_field_exists(struct tp_transition_snapshot, srcu_gp);
}

/*
 * Around what a switch must not come in between.  The verifier wants them in pairs within a function, and only what
 * sched.bpf.c makes of a function that several objects have calls them: it is linked first, and see CAST.
 *
 * They do not keep a program from being skipped.  The kernel leaves a program out where a thread that was switched out
 * inside it is waiting on this CPU; a switch that falls due meanwhile comes in GIVE_CPU(), which is inside it as well.
 * So what a program begins and another ends must be found to be over where that one was left out.
 */
#ifdef LEDGER_DEFINE
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;
#define KEEP_CPU()                                                                                                     \
	do {                                                                                                           \
		if (is_preemptible())                                                                                  \
			bpf_preempt_disable();                                                                         \
	} while (0)
#define GIVE_CPU()                                                                                                     \
	do {                                                                                                           \
		if (is_preemptible())                                                                                  \
			bpf_preempt_enable();                                                                          \
	} while (0)
#else
#define KEEP_CPU()
#define GIVE_CPU()
#endif

/*
 * 2f064a59a11f ("sched: Change task_struct::state"), v5.14, renamed `state`; kernels before it have no task
 * iterator that reads registers either, and are declined as a whole.
 */
static __always_inline __u32 task_state(struct task_struct *task)
{
	return task->__state;
}

/*
 * Clock of the time a run queue was throttled.  677ea015f231 ("sched: add throttled time stat for throttled
 * children"), v6.6.  Without it a throttle count is looked at, see note_throttling().
 */
static __always_inline bool has_throttled_clock(void)
{
	return bpf_core_field_exists(struct cfs_rq, throttled_clock_self_time);
}

/* Fair group scheduling and CPU bandwidth control may be configured out. */
static __always_inline bool has_cfs_rq(void)
{
	return bpf_core_field_exists(struct sched_entity, cfs_rq);
}

static __always_inline bool has_throttle_count(void)
{
	return bpf_core_field_exists(struct cfs_rq, throttle_count);
}

/*
 * Are real-time threads throttled as a whole?  5f6bd380c7bd ("sched/rt: Remove default bandwidth control"), v6.12, leaves
 * that to CONFIG_RT_GROUP_SCHED.
 */
static __always_inline bool has_realtime_throttling(void)
{
	return has_cfs_rq() && bpf_core_field_exists(struct rt_rq, rt_throttled);
}

static __always_inline bool has_steal_clock(void)
{
	return has_cfs_rq() && (bpf_core_field_exists(struct rq, prev_steal_time_rq) ||
				bpf_core_field_exists(struct rq, prev_steal_time));
}

static __always_inline __u64 steal_clock(struct task_struct *task)
{
	struct rq *rq;

	if (!has_cfs_rq())
		return 0;
	rq = LOAD(cfs_rq, LOAD(task_struct, task, se.cfs_rq), rq);
	/*
	 * The second is only advanced where paravirt_steal_rq_enabled, the first with CONFIG_IRQ_TIME_ACCOUNTING too.
	 */
	if (bpf_core_field_exists(struct rq, prev_steal_time_rq))
		return LOAD(rq, rq, prev_steal_time_rq);
	if (bpf_core_field_exists(struct rq, prev_steal_time))
		return LOAD(rq, rq, prev_steal_time);
	return 0;
}

/*
 * May storage be made wherever a program runs, even while the scheduler holds its locks?  Before, it came from
 * kmalloc().
 * 08a7ce384e33 ("bpf: Use bpf_mem_cache_alloc/free in bpf_local_storage_elem"), v6.4;
 * f484f4a3e058 ("bpf: Replace bpf memory allocator with kmalloc_nolock() in local storage"), v6.19;
 * 5063e7758899 ("bpf: Use kmalloc_nolock() universally in local storage"), v7.1, which has no word for it any more.
 */
static __always_inline bool may_allocate_anywhere(void)
{
	return bpf_core_field_exists(struct bpf_local_storage_map, bpf_ma) ||
	       bpf_core_field_exists(struct bpf_local_storage_map, use_kmalloc_nolock) ||
	       bpf_core_field_exists(struct bpf_local_storage, mem_charge);
}

/* Where a name's entry in the list of its inode lies: in a union that has a name on 6.18, and none on 7.2. */
static __always_inline __u32 alias_offset(void)
{
	if (bpf_core_field_exists(struct dentry___named, d_u.d_alias))
		return bpf_core_field_offset(struct dentry___named, d_u.d_alias);
	return bpf_core_field_offset(struct dentry, d_alias);
}

/*
 * Pages of a folio; only a large one, which its flags tell, knows their number.  53fbef56e07d ("mm: introduce
 * memdesc_flags_t"), v6.18, gave the flags a type; 4996fc547f5b ("mm: let _folio_nr_pages overlay memcg_data in first
 * tail page"), v6.15, renamed the number.
 */
static __always_inline __u64 folio_pages(struct folio *folio)
{
	unsigned long flags = 0, head = 1UL << bpf_core_enum_value(enum pageflags, PG_head);

	if (bpf_core_field_exists(struct folio, flags))
		flags = LOAD(folio, folio, flags);
	else if (bpf_core_field_exists(struct folio___typed, flags.f))
		flags = LOAD(folio___typed, folio, flags.f);
	if (!(flags & head))
		return 1;
	if (bpf_core_field_exists(struct folio, _folio_nr_pages))
		return LOAD(folio, folio, _folio_nr_pages);
	if (bpf_core_field_exists(struct folio___typed, _nr_pages))
		return LOAD(folio___typed, folio, _nr_pages);
	if (bpf_core_field_exists(struct folio, _folio_order))
		return 1ULL << LOAD(folio, folio, _folio_order);
	return 1;
}

/*
 * Whether the tracepoint mark_victim hands over the task, or only its pid.  72ba14deb40a ("mm: update mark_victim
 * tracepoints fields"), v6.10, and in newer releases of older kernels.
 */
static __always_inline bool victim_is_task(void)
{
	return bpf_core_field_exists(struct trace_event_raw_mark_victim, uid);
}

/* Written out, or the compiler makes one load of two: from a place it computes, which the verifier refuses. */
#define ARGUMENT(arguments, offset)                                                                                    \
	({                                                                                                             \
		long value;                                                                                            \
		asm volatile("%0 = *(u64 *)(%1 + " #offset ")" : "=r"(value) : "r"(arguments));                        \
		value;                                                                                                 \
	})

/*
 * The pause that a writer was given, among the arguments of the tracepoint balance_dirty_pages; 0 or less: none.  It
 * was the eleventh until f1ab2831e2a4 ("writeback: let trace_balance_dirty_pages() take struct dtc as parameter"),
 * v6.15, and is the seventh since.  28c24ef9e04f ("writeback: rename variables in trace_balance_dirty_pages()"), next
 * to it, renamed a field of the event.  A kernel that has the first alone (stable releases of 6.14) refuses the
 * program: it has no eleventh.
 */
static __always_inline long pause_of_writer(unsigned long long *arguments)
{
	if (bpf_core_field_exists(struct trace_event_raw_balance_dirty_pages, wb_setpoint))
		return ARGUMENT(arguments, 48);
	return ARGUMENT(arguments, 80);
}

/* Where the task's user stack ends: what it has pushed lies from there on. */
static __always_inline void *user_stack(struct task_struct *task)
{
	return (void *)((struct pt_regs *)bpf_task_pt_regs(task))->sp;
}

/* What the task's code keeps in the register of frame pointers. */
static __always_inline __u64 user_frame_pointer(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

#if defined(__TARGET_ARCH_x86)
	return regs->bp;
#else
	return regs->regs[29];
#endif
}

#if defined(__TARGET_ARCH_x86)
/*
 * Why a virtual CPU of VMX left its guest.  7172c753c26a ("KVM: VMX: Move common fields of struct vcpu_{vmx,tdx} to a
 * struct"), v6.16.
 */
static __always_inline __u32 vmx_exit_code(void *vcpu)
{
	__u32 code = 0;

	if (bpf_core_field_exists(struct vcpu_vmx, exit_reason))
		bpf_core_read(&code, sizeof(code), &((struct vcpu_vmx *)vcpu)->exit_reason.full);
	else if (bpf_core_field_exists(struct vcpu_vmx___vt, vt))
		bpf_core_read(&code, sizeof(code), &((struct vcpu_vmx___vt *)vcpu)->vt.exit_reason.full);
	return code & 0xffff; /* the upper half is flags */
}
#endif

/* As struct iovec, and struct user_msghdr up to its vectors: fixed by the system call interface. */
struct user_vector {
	__u64 base, length;
};

struct user_message {
	__u64 name, name_length, vectors;
};

struct call {
	__s64 number;	/* -1: not in a system call (a fault or an interrupt) */
	bool returning; /* the call is over, the kernel works on the way back */
	bool i386;
	__u64 arguments[5];
	__u64 stack_pointer;
};

/* Those that take an address. */
#if defined(__TARGET_ARCH_x86)
#define NUMBER_SENDTO 44
#define NUMBER_SENDMSG 46
#define NUMBER_SENDMMSG 307
#else
#define NUMBER_SENDTO 206
#define NUMBER_SENDMSG 211
#define NUMBER_SENDMMSG 269
#endif

static __always_inline void read_call(struct task_struct *task, struct call *call)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

#if defined(__TARGET_ARCH_x86)
	__s64 error = (__s64)regs->ax;

	call->number = (__s64)regs->orig_ax;
	call->returning = error != -38;		   /* -ENOSYS stands there from entry until the call's result does */
	call->i386 = task->thread_info.status & 2; /* TS_COMPAT */
	call->stack_pointer = regs->sp;
	if (call->i386) {
		call->number = (__s32)call->number;
		call->returning = (__s32)error != -38;
		call->arguments[0] = regs->bx;
		call->arguments[1] = regs->cx;
		call->arguments[2] = regs->dx;
		call->arguments[3] = regs->si;
		call->arguments[4] = regs->di;
	} else {
		call->arguments[0] = regs->di;
		call->arguments[1] = regs->si;
		call->arguments[2] = regs->dx;
		call->arguments[3] = regs->r10;
		call->arguments[4] = regs->r8;
	}
#else
	call->number = regs->syscallno;
	call->returning = false; /* not to be told on arm64: the result overwrites the first argument */
	call->i386 = false;
	call->stack_pointer = regs->sp;
	call->arguments[0] = regs->orig_x0;
	call->arguments[1] = regs->regs[1];
	call->arguments[2] = regs->regs[2];
	call->arguments[3] = regs->regs[3];
	call->arguments[4] = regs->regs[4];
#endif
}
