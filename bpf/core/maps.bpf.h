/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all programs share: the threads' records, what finds no room in them, what a CPU knows, the ring, the counters.
 */
#pragma once
#include "core/compat.bpf.h"
#include "core/records.h"

/* sched.bpf.c defines what the others share. */
#ifdef LEDGER_DEFINE
#define LEDGER_SHARED
#else
#define LEDGER_SHARED extern
#endif

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct record);
} records SEC(".maps");

/* 16,384 details of 184 bytes: allocated one by one, 3 MB if ever full. */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct detail_key);
	__type(value, struct detail);
} spilled SEC(".maps");

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct object_name);
} names SEC(".maps");

/* How long what has one name may take, by its object: requests, or calls. */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * LIMITS);
	__type(key, __u64);
	__type(value, __u64);
} limits SEC(".maps");

/* The device of the NFS mount that a client of remote procedure calls serves, by the client's id: client_id(). */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} rpc_mounts SEC(".maps");

/* How many such clients there have been at an address, all of them gone. */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u64);
} rpc_gone SEC(".maps");

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

#define RUNNERS 64 /* a wait behind more than so many slices names the last ones: a quarter second at 4 ms each */

struct runner {
	__u64 since;
	__u64 object; /* OBJECT_TASK or OBJECT_OWN; 0: the idle task */
	__u64 exec_id;
};

enum interrupt {
	IN_INTERRUPT = 1,
	IN_SOFTIRQ = 2,
	IN_TIMER = 4,  /* of high resolution, in an interrupt */
	IN_TIMERS = 8, /* the softirq is that of timers */
};

/* What a CPU knows of itself. */
struct cpu_state {
	struct cpu_sum sum; /* first: user space reads it from there */
	__u64 idle_since;   /* last switch to the idle task */
	__u64 last_switch;  /* last switch seen at all */
	__u64 irq_ns;	    /* time in interrupts and softirqs so far, while `follows` */
	__u64 irq_start;    /* 0: not in one */
	__u64 timer_start;  /* of a timer in an interrupt of its own, likewise */
	__u64 softirq_start;
	__u64 softirq_irq_ns;		/* irq_ns when the softirq began */
	__u64 samples_since;		/* token bucket for stacks */
	struct runner runners[RUNNERS]; /* who ran last, a ring */
	struct object_name runner_names[RUNNERS];
	__u32 runner; /* index of the one that runs now */
	__u32 samples;
	__u32 interrupts; /* enum interrupt: what runs here now, whatever the current task is */
	__u32 ticks;	  /* of the target, where not all take a stack */
	__u32 follows;	  /* a thread of the target runs here: interrupts are worth a look at the clock */
	__u32 calls;	  /* that returned here since then, see wait/failed_call.bpf.c */
	__u64 calls_since;
};

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

#define RING_BYTES (2 << 20) /* exits of 500 threads, or 1,500 stacks */

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ring SEC(".maps");

extern struct knobs knobs;

/* The target sleeps, and so does the recorder, without a timer, until a thread of it comes to a CPU. */
extern __u32 dormant;

static __always_inline void count_loss(__u32 counter)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &counter);

	if (value)
		(*value)++;
}

/*
 * What a new value of a hash begins with.  Not on the stack: the frames of all functions that call each other share 512
 * bytes on kernels without private stacks for programs (6.12 and older), where each is rounded up to 16 or 32 bytes.
 */
#ifdef LEDGER_DEFINE
const __u8 zeroes[sizeof(struct exchange_tally)]; /* the largest there is */
#else
extern const __u8 zeroes[sizeof(struct exchange_tally)];
#endif

/* `made` (NULL: nobody asks) is set where the value is new. */
static __always_inline void *find_or_make(void *map, const void *key, __u32 counter, bool *made)
{
	void *value = bpf_map_lookup_elem(map, key);

	if (value)
		return value;
	bpf_map_update_elem(map, key, zeroes, BPF_NOEXIST);
	value = bpf_map_lookup_elem(map, key);
	if (!value)
		count_loss(counter);
	else if (made)
		*made = true;
	return value;
}

/* The value of a key in a hash, zeroes where it had none; NULL, and a loss of that counter, where the hash is full. */
#define FIND_OR_MAKE(map, key, counter, made)                                                                          \
	({                                                                                                             \
		_Static_assert(sizeof(*(map).value) <= sizeof(zeroes), "more zeroes");                                 \
		(typeof((map).value))find_or_make(&(map), key, counter, made);                                         \
	})

/* What every event in the ring begins with. */
static __always_inline void head_event(struct event *event, __u32 kind, __u32 tgid, __u32 tid, __u64 at)
{
	event->kind = kind;
	event->tgid = tgid;
	event->tid = tid;
	event->at = at;
}

/*
 * What nobody waits for gathers, so that the recorder wakes up rarely, but not until it fills the ring.  (Behind an
 * event that woke nobody a submit without flags wakes nobody either.)
 */
static __always_inline __u64 gather(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > RING_BYTES / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* In ns; 0: there is no limit. */
static __always_inline __u64 limit_of(__u64 object)
{
	__u64 *own = knobs.own_limits ? bpf_map_lookup_elem(&limits, &object) : NULL;

	return own ? *own : knobs.slo_ns;
}

static __always_inline bool has_own_limit(__u64 object)
{
	return knobs.own_limits && bpf_map_lookup_elem(&limits, &object);
}

static __always_inline struct cpu_state *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

/*
 * Most tasks of a host have no storage at all: to see that is a load, no call, where there is the cast.  A trusted load
 * elsewhere would take stack that a switch does not have on Linux 6.1: its frames come to 512 bytes.
 */
static __always_inline bool has_storage(struct task_struct *task)
{
	return LOAD(task_struct, task, bpf_storage);
}

static __always_inline struct record *record_of(struct task_struct *task)
{
	return has_storage(task) ? bpf_task_storage_get(&records, task, NULL, 0) : NULL;
}
