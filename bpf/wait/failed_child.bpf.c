// SPDX-License-Identifier: GPL-2.0-only
/*
 * failed_child - which program fails, as a shell starts it, before another one sleeps, and the shell tries again?
 *
 * HOOKS   tp_btf sched_process_exit, signal_generate.
 * COST    a look-up for each process of the target that ends, two more where its parent is of the target; of others'
 *         threads that end a load.  For each signal of the host that ends processes two look-ups.
 * CANNOT  see what a shell does about its children itself (test and other built-in commands), or tell a child that has to
 *         fail from one that does not: that its name and status have to.  With the shell's option pipefail, see a failure
 *         in a pipeline before its last process.  See in what a program has failed that says nothing, or elsewhere.
 */
#include "wait/call.bpf.h"
#include "wait/failed_tries.bpf.h"

#define LONGEST_END_NS 1000000000ULL /* an interpreter that ends tidies up, and may have to wait for a CPU */
#define SIGINT 2
#define SIGQUIT 3
#define SIGKILL 9
#define SIGPIPE 13
#define SIGTERM 15
#define SI_USER 0
#define SI_QUEUE (-1)
#define SI_TKILL (-6)
#define SHELL_STATUS 128 /* and the signal's number: how shells pass on the end of what they have run */
#define STATUS_OF(code) ((code) >> 8 & 0xff)

char LICENSE[] SEC("license") = "GPL";

/*
 * Has a process ended for what failed there last?  Whoever cannot go on without a call says so, and ends soon; after an
 * answer it may well be silent.  Of what often does no harm nothing tells that it was that.
 */
static __always_inline bool is_cause(const struct failed_call *own)
{
	if (!own || !own->at || own->minor || own->what.ended || bpf_ktime_get_ns() - own->at > LONGEST_END_NS)
		return false;
	return OBJECT_KIND(own->what.call) == OBJECT_REQUEST || own->after == AFTER_MESSAGE;
}

static __always_inline void take_cause(struct failed_call *failed, const struct failed_call *own)
{
	failed->what.call = own->what.call;
	failed->what.error = own->what.error;
	failed->object = own->object;
	failed->kind = own->kind;
	__builtin_memcpy(failed->argument, own->argument, sizeof(failed->argument));
}

/* `own`: what the child has failed in last, NULL: nothing. */
static __always_inline void keep_child(struct task_struct *parent, struct task_struct *task,
				       const struct failed_call *own)
{
	struct failed_call *failed = failed_of(parent);
	struct failure what = { .ended = task->exit_code };

	if (!failed)
		return;
	__builtin_memcpy(what.command, task->comm, sizeof(what.command));
	begin_failure(failed, &what);
	if (is_cause(own))
		take_cause(failed, own);
}

/*
 * Has a child failed, and does its parent act on that?  Not if the target itself has told it to end, nor if nobody wants the
 * rest of what it writes.  And a shell acts on the last process of a pipeline, the one that it has started last: then it
 * starts nothing until all of them have ended.
 */
static __always_inline bool is_failure(__u32 code, const struct failed_call *own, const struct record *record,
				       const struct record *who)
{
	if (SIGNAL_OF(code) == SIGPIPE || STATUS_OF(code) == SHELL_STATUS + SIGPIPE || who->forked_at > record->start)
		return false;
	if (!own || !own->ended_by)
		return true;
	return SIGNAL_OF(code) && SIGNAL_OF(code) != own->ended_by;
}

/*
 * A child that has slept for most of its life, as sleep(1) does, has done so for who started it.  One that succeeds after
 * all, or with something else, is not what that sleeps for, nor is what failed before some other child succeeded.
 */
static __always_inline void book_child(struct task_struct *parent, struct task_struct *task, struct record *record,
				       const struct record *who)
{
	__u64 ns = record->accounts[ACCOUNT_WAIT_TIMER].ns, now = bpf_ktime_get_ns();
	struct failed_call *failed = last_failure(parent);

	if (!failed || !failed->at || record->start < failed->at)
		return;
	if (ns >= SHORTEST_SLEEP_NS && 2 * ns >= now - record->start)
		book_try(failed, task->comm, who, ns);
	else
		failed->at = 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(failed_child, struct task_struct *task)
{
	struct record *record = record_of(task), *who;
	struct task_struct *parent;
	struct failed_call *own;

	if (!record || knobs.closing || task->pid != task->tgid ||
	    LOAD(signal_struct, LOAD(task_struct, task, signal), live.counter) > 0)
		return 0;
	parent = task->real_parent;
	who = parent ? record_of(parent) : NULL;
	if (!who)
		return 0;
	if (!task->exit_code) {
		book_child(parent, task, record, who);
		return 0;
	}
	own = last_failure(task);
	if (is_failure(task->exit_code, own, record, who))
		keep_child(parent, task, own);
	return 0;
}

static __always_inline bool asks_to_end(int sig)
{
	return sig == SIGINT || sig == SIGQUIT || sig == SIGKILL || sig == SIGTERM;
}

/* Where the kernel itself sends a signal, `info` can be a small number. */
static __always_inline bool is_sent_by_process(const struct kernel_siginfo *info)
{
	int code;

	if (bpf_core_read(&code, sizeof(code), &info->si_code))
		return false;
	return code == SI_USER || code == SI_QUEUE || code == SI_TKILL;
}

SEC("tp_btf/signal_generate")
int BPF_PROG(child_ended, int sig, struct kernel_siginfo *info, struct task_struct *task)
{
	struct failed_call *failed;

	if (!asks_to_end(sig) || knobs.closing || !is_sent_by_process(info) ||
	    (__u32)task->tgid == bpf_get_current_pid_tgid() >> 32 || !record_of(bpf_get_current_task_btf()))
		return 0;
	failed = failed_of(task->group_leader);
	if (failed)
		failed->ended_by = sig;
	return 0;
}
