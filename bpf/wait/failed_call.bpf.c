// SPDX-License-Identifier: GPL-2.0-only
/*
 * failed_call - which system call fails before a thread sleeps, and tries again?
 *
 * HOOKS   tp_btf sys_exit.
 * COST    100 ns for every system call of the host, most of it the tracepoint itself (getppid() takes 164 ns without it,
 *         267 with it): taken away for good as soon as one CPU returns from more than 100,000 calls a second.  A look-up
 *         for each of the target's that fails or times out, opens nothing but takes a name, or writes to standard error.
 * CANNOT  see that another thread sleeps for a call that failed, or a try that no second one and a second sleep follow, in
 *         the same request where the thread reads requests.  Of several calls that failed before a sleep the last one
 *         counts.
 */
#include <linux/errno.h>
#include "core/own_costs.bpf.h"
#include "wait/call.bpf.h"
#include "wait/failed_tries.bpf.h"
#include "wait/file.bpf.h"

#define ERESTARTSYS 512 /* the first of those that no program ever sees */
#define STANDARD_ERROR 2
#define MANY_CALLS 131072
#define MANY_CALLS_NS 1310720000ULL /* 100,000 a second: a hundredth of a CPU */

char LICENSE[] SEC("license") = "GPL";

const volatile __u8 call_arguments[512]; /* enum argument_kind, and the place */

static bool told_many;
static bool has_failed[512]; /* by number: of all others no success has to be looked at */

static __always_inline void count_call(void)
{
	struct cpu_state *cpu = this_cpu();
	struct event *event;
	__u64 now;

	if (!cpu || ++cpu->calls < MANY_CALLS)
		return;
	now = bpf_ktime_get_ns();
	if (now - cpu->calls_since < MANY_CALLS_NS && !told_many) {
		event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
		if (event) {
			head_event(event, EVENT_MANY_CALLS, 0, 0, now);
			bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
			told_many = true;
		}
	}
	cpu->calls = 0;
	cpu->calls_since = now;
}

/* Has a call ended because its time was up? */
static __always_inline bool is_sleep(__u32 class, long result)
{
	switch (class) {
	case SYSCALL_SLEEP:
	case SYSCALL_POLL:
	case SYSCALL_SELECT:
	case SYSCALL_EVENTS: return !result;
	case SYSCALL_FUTEX: return result == -ETIMEDOUT;
	}
	return false;
}

/* Answers that are no trouble: to try again where something may come, to questions what something is, or can. */
static __always_inline bool is_answer(__u32 class, __u32 error)
{
	switch (error) {
	case EAGAIN: return class != SYSCALL_LOCK && class != SYSCALL_CHILD && class != SYSCALL_OTHER;
	case EINTR:
	case ECHILD:
	case ENOTTY:
	case ESPIPE:
	case ERANGE:
	case ENOSYS:
	case ENODATA:
	case ENOMSG:
	case ENOPROTOOPT:
	case EOPNOTSUPP:
	case EISCONN:
	case ENOTCONN:
	case ETIMEDOUT:
	case EALREADY:
	case EINPROGRESS: return true;
	}
	return error >= ERESTARTSYS || class == SYSCALL_FUTEX || class == SYSCALL_SLEEP || class == SYSCALL_EXIT;
}

/* Who looks for a file in several places meets these all the time. */
static __always_inline bool is_minor(__u32 error)
{
	return error == ENOENT || error == ENOTDIR || error == ESRCH || error == EBADF || error == EINVAL;
}

#define ADDRESS_BYTES 28       /* struct sockaddr_in6 */
#define SHORT_ADDRESS_BYTES 16 /* struct sockaddr_in, behind which memory may end */

/* A name of AF_UNIX ends where the length of its address says, or before at a NUL: what follows is somebody else's. */
static __always_inline void read_unix_name(struct failed_call *failed, __u64 address, __u32 bytes)
{
	__u64 length = bytes - sizeof(__u16);

	if (length >= sizeof(failed->argument))
		return;
	length = at_most(length, sizeof(failed->argument) - 1);
	if (bpf_probe_read_user(failed->argument, length, (void *)address + sizeof(__u16)))
		return;
	failed->argument[length] = 0;
	failed->kind = ARGUMENT_PATH;
}

static __always_inline void read_address(struct failed_call *failed, const struct call *call, __u32 place)
{
	__u64 address = call->arguments[place];
	__u16 family = 0;

	bpf_probe_read_user(&family, sizeof(family), (void *)address);
	if (family == AF_UNIX) {
		if (place == 1) /* bind(), connect(): the length of sendto()'s is no argument that is read */
			read_unix_name(failed, address, call->arguments[2]);
	} else if (!bpf_probe_read_user(failed->argument, ADDRESS_BYTES, (void *)address) ||
		   !bpf_probe_read_user(failed->argument, SHORT_ADDRESS_BYTES, (void *)address)) {
		failed->kind = ARGUMENT_ADDRESS;
	}
}

static __always_inline void read_argument(struct failed_call *failed, struct task_struct *task, struct call *call)
{
	__u64 number = call->number, value;
	struct inode *inode;
	__u32 argument;

	if (number >= 512 || call->i386)
		return;
	argument = call_arguments[number];
	if (ARGUMENT_PLACE(argument) >= 5)
		return;
	value = call->arguments[ARGUMENT_PLACE(argument)];
	switch (ARGUMENT_KIND(argument)) {
	case ARGUMENT_PATH:
		if (bpf_probe_read_user_str(failed->argument, sizeof(failed->argument), (void *)value) > 0)
			failed->kind = ARGUMENT_PATH;
		break;
	case ARGUMENT_ADDRESS: read_address(failed, call, ARGUMENT_PLACE(argument)); break;
	case ARGUMENT_DESCRIPTOR:
		inode = LOAD(file, file_of(task, value), f_inode);
		if (inode)
			failed->object = file_object(inode);
		break;
	}
}

static __always_inline void keep_failed(struct task_struct *task, struct call *call, __u32 error)
{
	struct failed_call *failed = failed_of(task);
	struct failure what = { .call = call_object(call), .error = error };
	__u64 number = call->number;

	if (!failed || (failed->at && !failed->minor && is_minor(error)))
		return;
	if (number < 512)
		has_failed[number] = true;
	begin_failure(failed, &what);
	failed->minor = is_minor(error);
	read_argument(failed, task, call);
}

/* What succeeds for something else, such as the next of several locks, is not what a thread sleeps for, either. */
static __always_inline void forget_failed(struct task_struct *task, struct call *call)
{
	__u64 number = call->number;

	if (number < 512 && has_failed[number])
		forget_tries(task, call_object(call),
			     call->i386 || ARGUMENT_KIND(call_arguments[number]) == ARGUMENT_NONE);
}

/* An empty path stands for a descriptor, which is nothing new. */
static __always_inline bool is_empty_path(const struct call *call, __u32 argument)
{
	__u32 place = ARGUMENT_PLACE(argument);
	char first = 0;

	if (ARGUMENT_KIND(argument) != ARGUMENT_PATH || place >= 5)
		return false;
	bpf_probe_read_user(&first, sizeof(first), (void *)call->arguments[place]);
	return !first;
}

/*
 * Why a process ends is often not what failed last: it may have gone on.  Who cannot says so, and may read what it says
 * from files.  Calls that take a name and return 0 open nothing.
 */
static __always_inline void note_next(struct task_struct *task, struct call *call, __u32 class, long result)
{
	__u64 number = call->number;
	__u32 argument = number < 512 && !call->i386 ? call_arguments[number] : ARGUMENT_NONE, after = AFTER_NOTHING;
	struct failed_call *failed;

	if (class == SYSCALL_FD_WRITE && (__u32)call->arguments[0] == STANDARD_ERROR)
		after = AFTER_MESSAGE;
	else if (class == SYSCALL_CHILD && result > 0)
		after = AFTER_MORE;
	else if (!result && (ARGUMENT_KIND(argument) == ARGUMENT_PATH || ARGUMENT_KIND(argument) == ARGUMENT_ADDRESS))
		after = AFTER_MORE;
	if (!after)
		return;
	failed = last_failure(task);
	if (failed && failed->at && failed->after < after && !(after == AFTER_MORE && is_empty_path(call, argument)))
		failed->after = after;
}

/* Since when did the thread that runs now wait?  Its way back to a CPU may not have been announced, see ran_since(). */
static __always_inline __u64 last_wait_began(const struct record *record)
{
	return record->state == STATE_BLOCKED ? record->since : record->waited_since;
}

/* A thread sleeps, and if it slept for the same call before, it tries that again and again. */
static __always_inline void book_sleep(struct task_struct *task, struct call *call)
{
	struct failed_call *failed = last_failure(task);
	struct record *record = failed && failed->at ? record_of(task) : NULL;
	__u64 since = record ? last_wait_began(record) : 0, ns = bpf_ktime_get_ns() - since;

	/* The last wait may be older than that failure, or another call's: a poll with a timeout of 0 does not wait. */
	if (!record || since < failed->at || record->last_syscall != (__u32)call->number ||
	    (record->account != ACCOUNT_WAIT_TIMER && record->account != ACCOUNT_WAIT_PARKED) || ns < SHORTEST_SLEEP_NS)
		return;
	book_try(failed, task->comm, record, ns);
}

static __always_inline int note_end(long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call call;
	__u64 number;
	__u32 class;

	count_call();
	if (result < -4095 || knobs.closing)
		return 0;
	read_call(task, &call);
	number = call.number;
	if (number >= 512) /* of x32, or of no call that there is */
		return 0;
	barrier_var(number);
	call.number = number & 511; /* Linux 6.1 does not know of copies on the stack what was checked of it */
	class = class_of(&call);
	note_next(task, &call, class, result);
	if (is_sleep(class, result))
		book_sleep(task, &call);
	else if (result >= 0)
		forget_failed(task, &call);
	else if (!is_answer(class, -result))
		keep_failed(task, &call, -result);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(failed_call, struct pt_regs *regs, long result)
{
	return TIMED(TIMED_FAILED_CALL, note_end(result));
}
