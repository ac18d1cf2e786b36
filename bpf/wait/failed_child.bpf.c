// SPDX-License-Identifier: GPL-2.0-only
/*
 * failed_child - which program fails, as a shell starts it, before another one sleeps, and the shell tries again?
 *
 * HOOKS   tp_btf sched_process_exit.
 * COST    a look-up for each process of the target that ends, two more where its parent is of the target; of others'
 *         threads that end a load.
 * CANNOT  see what a shell does about its children itself (test and other built-in commands), or tell a child that has to
 *         fail from one that does not: that its name has to.
 */
#include "wait/call.bpf.h"
#include "wait/failed_tries.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* In what it failed, if that is known: of what often does no harm nothing tells that it was that. */
static __always_inline void take_cause(struct failed_call *failed, const struct failed_call *own)
{
	failed->what.call = own->what.call;
	failed->what.error = own->what.error;
	failed->object = own->object;
	failed->kind = own->kind;
	__builtin_memcpy(failed->argument, own->argument, sizeof(failed->argument));
}

static __always_inline void keep_child(struct task_struct *parent, struct task_struct *task)
{
	struct failed_call *own = bpf_task_storage_get(&last_failed, task, NULL, 0), *failed = failed_of(parent);

	if (!failed)
		return;
	failed->what = (struct failure){ .ended = task->exit_code };
	__builtin_memcpy(failed->what.command, task->comm, sizeof(failed->what.command));
	failed->object = failed->minor = 0;
	failed->kind = ARGUMENT_NONE;
	if (own && own->at && !own->minor && !own->what.ended)
		take_cause(failed, own);
	failed->at = bpf_ktime_get_ns();
}

static __always_inline bool is_command(const struct failure *what, struct task_struct *task)
{
	struct failure other = *what;

	__builtin_memcpy(other.command, task->comm, sizeof(other.command));
	return is_same(what, &other);
}

/*
 * A child that has slept for most of its life, as sleep(1) does, has done so for who started it.  One that succeeds after
 * all, or with something else, is not what that sleeps for.
 */
static __always_inline void book_child(struct task_struct *parent, struct task_struct *task, struct record *record,
				       const struct record *who)
{
	__u64 ns = record->accounts[ACCOUNT_WAIT_TIMER].ns, now = bpf_ktime_get_ns();
	struct failed_call *failed;

	failed = parent->bpf_storage ? bpf_task_storage_get(&last_failed, parent, NULL, 0) : NULL;
	if (!failed || !failed->at || record->start < failed->at)
		return;
	if (ns >= SHORTEST_SLEEP_NS && 2 * ns >= now - record->start)
		book_try(failed, task->comm, who, ns);
	else if (is_command(&failed->what, task))
		failed->at = 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(failed_child, struct task_struct *task)
{
	struct record *record = record_of(task), *who;
	struct task_struct *parent;

	if (!record || knobs.closing || task->pid != task->tgid ||
	    LOAD(signal_struct, LOAD(task_struct, task, signal), live.counter) > 0)
		return 0;
	parent = task->real_parent;
	who = parent ? record_of(parent) : NULL;
	if (!who)
		return 0;
	if (task->exit_code)
		keep_child(parent, task);
	else
		book_child(parent, task, record, who);
	return 0;
}
