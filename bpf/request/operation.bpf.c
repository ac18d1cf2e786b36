// SPDX-License-Identifier: GPL-2.0-only
/*
 * operation - which system calls that block take longer than the objective, and where does their time go?  Which are
 * refused for want of a descriptor?
 *
 * HOOKS   tp_btf sys_exit.  An operation begins when a call blocks for the first time (classify.bpf.h) and
 *         ends here.
 * COST    one task storage look-up for every system call of the host: attached only when asked for (--slo).
 * CANNOT  see the CPU time of a call before its first block, nor calls that never block.
 */
#include "core/buckets.bpf.h"
#include "wait/call.bpf.h"

#define ENFILE 23
#define EMFILE 24

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct operation_key);
	__type(value, struct operation_sum);
} operations SEC(".maps");

static __always_inline void end_operation(struct record *record, long result)
{
	__u64 ns = bpf_ktime_get_ns() - record->operation_start, running = ns;
	__u64 limit = limit_of(record->operation_call);
	struct operation_key key = { .call = record->operation_call, .over_slo = limit && ns >= limit };
	struct operation_sum *sum = FIND_OR_MAKE(operations, &key, COUNTER_OPERATIONS_FULL, NULL);

	if (!sum)
		return;
	ADD_SHARED(sum, ns);
	__sync_fetch_and_add(&sum->errors, result < 0 && result >= -4095);
	for (int i = 0; i < OPERATION_PARTS; i++) {
		__u32 account = record->parts[i].account;

		if (!record->parts[i].ns || account >= ACCOUNT_COUNT)
			continue;
		running -= running < record->parts[i].ns ? running : record->parts[i].ns;
		__sync_fetch_and_add(&sum->accounts[account].ns, record->parts[i].ns);
		__sync_fetch_and_add(&sum->accounts[account].count, 1);
	}
	/* What is not booked yet is the running segment that this call returns in. */
	__sync_fetch_and_add(&sum->accounts[ACCOUNT_CPU_USER].ns, running);
	__sync_fetch_and_add(&sum->accounts[ACCOUNT_CPU_USER].count, 1);
}

static __always_inline void tell_refused(struct record *record, __u64 error)
{
	struct refused_event *event;
	__u64 now = bpf_ktime_get_ns();

	if (now - record->refused_at < 1000000000ULL)
		return;
	record->refused_at = now;
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		count_loss(COUNTER_RING_BUFFER);
		return;
	}
	head_event(&event->event, EVENT_REFUSED, record->tgid, record->tid, now);
	event->error = error;
	bpf_ringbuf_submit(event, gather());
}

/*
 * The call that blocked, or another?  This program can have been left out at its end, see KEEP_CPU: then how long it took
 * is not known, and what came after it is none of it.
 */
static __always_inline bool is_end_of_operation(struct record *record, struct task_struct *task)
{
	struct call call;

	read_call(task, &call);
	return record->operation_call == call_object(&call) || class_of(&call) == SYSCALL_RESTART;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record *record = record_of(task);

	if (!record)
		return 0;
	if (result == -ENFILE || result == -EMFILE)
		tell_refused(record, -result);
	if (!record->operating)
		return 0;
	if (!record->taken && is_end_of_operation(record, task))
		end_operation(record, result);
	record->operating = 0;
	return 0;
}
