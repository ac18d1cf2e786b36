/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What crosses from the kernel side into user space: the single source of truth for both.  Plain C types only, so
 * that it parses in either world; the including file provides the fixed-width integer types.
 *
 * Ids are never reused: append before the last one.
 */
#pragma once
#include "core/records/cpus.h"

/* The accounts of the ledger, in the order of lib/perfdiag/recording/accounts.py (a test compares the two). */
#define ACCOUNTS(X)                                                                                                    \
	X(CPU_USER, "cpu.user")                                                                                        \
	X(CPU_KERNEL, "cpu.kernel")                                                                                    \
	X(CPU_IRQ, "cpu.irq")                                                                                          \
	X(CPU_STOLEN, "cpu.stolen")                                                                                    \
	X(VM_GUEST, "vm.guest")                                                                                        \
	X(VM_EXIT, "vm.exit")                                                                                          \
	X(VM_HALT, "vm.halt")                                                                                          \
	X(RUNQ_BUSY, "runq.busy")                                                                                      \
	X(RUNQ_WAKING, "runq.waking")                                                                                  \
	X(RUNQ_THROTTLED, "runq.throttled")                                                                            \
	X(DISK_READ, "disk.read")                                                                                      \
	X(DISK_WRITE, "disk.write")                                                                                    \
	X(DISK_FLUSH, "disk.flush")                                                                                    \
	X(NFS_READ, "nfs.read")                                                                                        \
	X(NFS_WRITE, "nfs.write")                                                                                      \
	X(NFS_COMMIT, "nfs.commit")                                                                                    \
	X(NFS_METADATA, "nfs.metadata")                                                                                \
	X(NFS_LOCK, "nfs.lock")                                                                                        \
	X(REMOTE_FS, "remote.fs")                                                                                      \
	X(MEMORY_RECLAIM, "memory.reclaim")                                                                            \
	X(MEMORY_COMPACTION, "memory.compaction")                                                                      \
	X(MEMORY_DIRTY_THROTTLE, "memory.dirty_throttle")                                                              \
	X(MEMORY_SWAP_IN, "memory.swap_in")                                                                            \
	X(MEMORY_MAJOR_FAULT, "memory.major_fault")                                                                    \
	X(MEMORY_CGROUP, "memory.cgroup")                                                                              \
	X(LOCK_FUTEX, "lock.futex")                                                                                    \
	X(LOCK_FILE, "lock.file")                                                                                      \
	X(LOCK_KERNEL, "lock.kernel")                                                                                  \
	X(WAIT_PARKED, "wait.parked")                                                                                  \
	X(NET_CONNECT, "net.connect")                                                                                  \
	X(NET_RECEIVE, "net.receive")                                                                                  \
	X(NET_SEND, "net.send")                                                                                        \
	X(IPC_PIPE, "ipc.pipe")                                                                                        \
	X(IPC_UNIX, "ipc.unix")                                                                                        \
	X(WAIT_IO_URING, "wait.io_uring")                                                                              \
	X(RUNTIME_SAFEPOINT, "runtime.safepoint")                                                                      \
	X(WAIT_EVENTS, "wait.events")                                                                                  \
	X(WAIT_TIMER, "wait.timer")                                                                                    \
	X(WAIT_CHILD, "wait.child")                                                                                    \
	X(WAIT_SIGNAL, "wait.signal")                                                                                  \
	X(NET_ACCEPT, "net.accept")                                                                                    \
	X(NET_REQUEST, "net.request")                                                                                  \
	X(WAIT_STOPPED, "wait.stopped")                                                                                \
	X(KERNEL_OTHER, "kernel.other")                                                                                \
	X(LOCK_DATABASE, "lock.database")                                                                              \
	X(UNEXPLAINED, "unexplained")

#define ACCOUNT_ENUM(id, name) ACCOUNT_##id,
enum account { ACCOUNTS(ACCOUNT_ENUM) ACCOUNT_COUNT };

/* Is a thread that blocks on it idle, as far as the call tells? */
static inline _Bool is_idle(__u32 account)
{
	switch (account) {
	case ACCOUNT_WAIT_PARKED:
	case ACCOUNT_WAIT_EVENTS:
	case ACCOUNT_WAIT_TIMER:
	case ACCOUNT_WAIT_CHILD:
	case ACCOUNT_WAIT_SIGNAL:
	case ACCOUNT_WAIT_STOPPED:
	case ACCOUNT_NET_ACCEPT:
	case ACCOUNT_NET_REQUEST:
	case ACCOUNT_VM_HALT: return 1;
	}
	return 0;
}

static inline _Bool is_nfs(__u32 account)
{
	return account >= ACCOUNT_NFS_READ && account <= ACCOUNT_NFS_LOCK;
}

/* Do only its callers tell what such a wait is for?  Locks of databases are waited for in all of these. */
static inline _Bool needs_callers(__u32 account)
{
	return account == ACCOUNT_WAIT_PARKED || account == ACCOUNT_WAIT_EVENTS || account == ACCOUNT_WAIT_TIMER ||
	       is_nfs(account); /* a database's locks and flushes */
}

/* Losses and failed look-ups; every one stands in the recording's footer. */
#define COUNTERS(X)                                                                                                    \
	X(RING_BUFFER, "ring_buffer")		/* events, such as exits, execs and joins, that found the ring full */ \
	X(STORAGE_FAILED, "storage_failed")	/* a record could not be allocated */                                  \
	X(DETAIL_FULL, "detail_full")		/* waits whose object was dropped, their account kept */               \
	X(NAMES_FULL, "names_full")		/* objects without a name */                                           \
	X(WAKEUPS_MISSING, "wakeups_missing")	/* waits whose end was not seen: run queue time unknown */             \
	X(SWITCHES_MISSING, "switches_missing") /* switches not announced; times then come from the task's clock */    \
	X(SNAPSHOTS_TORN, "snapshots_torn")	/* reads of a record that met a write */                               \
	X(STACKS_FAILED, "stacks_failed")	/* stacks that could not be walked */                                  \
	X(STACKS_DROPPED, "stacks_dropped")	/* stacks that found the ring full */                                  \
	X(EXITED_FOLDED_FULL, "exited_folded_full") /* ended threads whose time is lost */                             \
	X(VM_EXITS_FULL, "vm_exits_full")	    /* exits of virtual CPUs whose reason was not counted */           \
	X(FILES_FULL, "files_full")		    /* reads of files there was no room to name */                     \
	X(DIRTIERS_FULL, "dirtiers_full")	    /* writers of dirty pages there was no room to name */             \
	X(RPC_FULL, "rpc_full")			    /* calls, flushes and requests of NFS that were not counted */     \
	X(DEVICES_FULL, "devices_full")		    /* requests of block devices that were not counted */              \
	X(DISK_USERS_FULL, "disk_users_full")	    /* pieces of I/O whose process there was no room to name */        \
	X(OPERATIONS_FULL, "operations_full")	    /* operations that were not counted */                             \
	X(CONNECTIONS_FULL, "connections_full")	    /* connections whose requests and calls were not followed */       \
	X(EXCHANGES_FULL, "exchanges_full")	    /* requests and calls that were not counted */                     \
	X(NAMED_CALLS_FULL, "named_calls_full")	    /* calls that were not counted by name */                          \
	X(ANSWERS_FULL, "answers_full")		    /* answers that are errors, and were not counted */                \
	X(BECAUSE_FULL, "because_full")		    /* waits whose root found no room */                               \
	X(DATABASES_FULL, "databases_full")	    /* sessions of databases whose waits have no names */              \
	X(STATEMENTS_FULL, "statements_full")	    /* SQL statements that were not counted */                         \
	X(STATEMENTS_TORN, "statements_torn")	    /* SQL statements whose time could not be told apart */            \
	X(STATEMENTS_UNREAD, "statements_unread")   /* SQL statements that were sent, whose text could not be read */  \
	X(FAILED_CALLS_FULL, "failed_calls_full")   /* sleeps after failed calls that were not counted */              \
	X(PEERS_FULL, "peers_full")		    /* waits for processes outside that there was no room to look at */

#define COUNTER_ENUM(id, name) COUNTER_##id,
enum counter { COUNTERS(COUNTER_ENUM) COUNTER_COUNT };

#include "core/records/objects.h"

#define COMM_BYTES 16
#define BUCKETS 32
#define DETAILS 14	  /* 14 x 184 + 45 x 16 bytes of accounts keeps a record under 4,000 bytes */
#define TAGS 16		  /* of details, four in a word: of the last two there is none */
#define OPERATION_PARTS 6 /* accounts of one operation; more are told as running time */
#define STACK_FRAMES 48
#define SCAN_WORDS 96	      /* of a running thread */
#define SCAN_WORDS_OF_WAIT 48 /* of one that blocks */
#define SCAN_NAMES 48	      /* that are written of them */
#define STACK_PAGE 4096
#define MARKERS 192

struct account_sum {
	__u64 ns;
	__u32 count;
	__u32 max_us;
};

/* One account and object with its distribution. */
struct detail {
	__u64 object;
	__u64 ns;
	__u64 sampled_ns; /* `ns` when its stack was last taken */
	__u32 count;
	__u32 max_us;
	__u32 waker; /* majority vote over the threads that these waits were for (Boyer and Moore) */
	__u32 waker_votes;
	__u8 account;
	__u8 padding[3];
	__u32 wait;    /* its last one, if that came in parts: the record's sequence when it was booked */
	__u64 part_ns; /* of that wait, so far */
	__u32 buckets[BUCKETS];
};

#include "core/records/vm.h"

/* A socket: an address is used again by another one, a cookie is not. */
struct socket_id {
	__u64 address;
	__u64 cookie; /* 0: none */
};

enum state {
	STATE_NEW, /* storage exists, nothing booked yet */
	STATE_RUNNING,
	STATE_RUNNABLE,
	STATE_BLOCKED,
	STATE_CLOSED, /* dead, books merged */
};

/* Of a call: whoever has it may wake the request that waits for it. */
struct answer {
	__u64 asked, at; /* 0: none */
	__u64 peer;
};

#define AWAITED_PIPE 1

/*
 * A thread's ledger.  Only the thread itself writes it, at its own switches (but for what its waker stores).  What
 * every switch needs stands first: after a sleep a line of memory costs more than all that is done with it.
 */
struct record {
	__u32 sequence;	    /* odd while being written */
	__u8 state;	    /* enum state */
	__u8 account;	    /* enum account of the open wait */
	__u8 place;	    /* of the open wait's detail, DETAILS: none */
	__u8 region;	    /* enum region it is inside of */
	__u64 since;	    /* the open segment begins here; of the last switch */
	__u64 waking;	    /* last sched_waking; stale if not after `since` */
	__u64 waited_since; /* its last wait began */
	__u64 object;	    /* of the open wait */
	__u64 said;	    /* what a database says the open wait is for (databases.h), 0: nothing */
	__u64 cfs_rq;	    /* at switch-out, for throttling */
	__u64 throttled_ns; /* its throttled clock at switch-out */
	__u64 irq_ns;	    /* interrupt clock of the CPU at switch-in */
	__u64 steal_ns;	    /* steal clock of the CPU at switch-in */
	__u64 run_ns; /* the kernel's clock of its time on a CPU, at switch-out; in a copy: how far it went on since */
	__u64 start;  /* its window begins here */
	__u64 fault_inode; /* struct inode whose pages the last fault wanted, 0: none since the last wait */
	__u64 file_inode;  /* struct inode of the file that the open wait reads, or flushes; 0: none */
	__u64 awaited;	   /* struct sock that the open wait receives from, AWAITED_PIPE: it reads a pipe, 0: neither */
	__u32 waker;	   /* who ended the last wait, or kept it waiting longest; 0: interrupt or unknown */
	__u32 last_syscall;	  /* number of the last system call seen, for restart_syscall */
	__u32 region_detail;	  /* of what the region is, see region_object() */
	__u8 throttled;		  /* enum throttled */
	__u8 operating;		  /* inside a system call that blocked (operation.bpf.c) */
	__u8 on_cpu;		  /* when it was copied */
	__u8 vm;		  /* enum vm: what the thread of a virtual CPU is in */
	__u8 by_time;		  /* a timer ended the last wait */
	__u8 hint[ACCOUNT_COUNT]; /* detail used last, by account */
	__u8 kernel_thread;
	__u8 serving_sure; /* since it waited for events it has read from there */
	__u8 large_set; /* so many waits in epoll it is not asked again what is in the set: the last one had too much */
	__u8 turned;	/* its last wait was in poll, select or epoll */
	__u8 has_read;	/* since its last wait, from who answers the target */
	__u8 taken;	/* copied for the last time: what it does from now on goes into no sum that is read later */
	__u8 is_peer;	/* not of the target: nothing is booked, see wait/peer_record.bpf.h */
	__u8 signalled; /* a signal ended the last wait */
	__u64 serial;
	__u64 user_start_ns; /* utime and stime when the window began */
	__u64 kernel_start_ns;
	__u64 user_ns; /* utime and stime when it was last copied */
	__u64 kernel_ns;
	__u64 guest_ns; /* gtime as far as it is booked; in a copy: what is not yet.  Not used where programs see guests */
	__u64 at;	/* clock when it was copied */
	__u32 tid, tgid, namespace_tid;
	__u32 requests_read; /* by it */
	__u64 refused_at;    /* last EVENT_REFUSED */
	__u64 handed_object; /* what was handed on to this thread last: see hand_on() */
	__u64 handed_at;
	__u64 handed_from, handed_until; /* when `handed_by` had it meanwhile */
	__u32 handed_by;
	__u32 requests_turned; /* of these, for which it left another connection that is open */
	__u32 helped;	       /* so often it woke a thread of its process that reads requests, and waited for events */
	struct vm_left left;   /* a virtual CPU's last exit */
	__u64 operation_start; /* the call it is in blocked first */
	__u64 operation_call;
	struct {
		__u64 ns;
		__u32 account, padding;
	} parts[OPERATION_PARTS]; /* of the operation, so far */
	__u64 rpc; /* struct rpc_clnt of the remote procedure it called last, 0: none since it waited for something else */
	struct socket_id serving;   /* the connection whose request it serves */
	struct socket_id read_last; /* the connection that it read a request from last */
	struct socket_id next;	    /* the first of those whose requests a ring has brought meanwhile; none: cookie 0 */
	struct socket_id next_last; /* the last of these */
	__u64 serving_since;	    /* what it did before is none of that request's */
	__u64 idled;	      /* it has waited for something to do since then, and read no answer since; 0: neither */
	__u64 idle_until;     /* the last such wait, when it had its CPU again */
	struct answer answer; /* that it has got since it waited */
	__u64 set_off_at; /* when a timer had set off the call whose answer it has read last; 0: something else did */
	__u64 script_thread; /* where an interpreter keeps what it knows of this thread; 0: not known */
	__u64 script_misses; /* since that was found last, how often it was asked for */
	__u64 forked_at;     /* when it started its youngest process */
	char comm[COMM_BYTES];
	char process_comm[COMM_BYTES];
	__u16 tags[TAGS] __attribute__((aligned(8))); /* of details that are used: tag_of(); 0: free */
	struct account_sum accounts[ACCOUNT_COUNT];
	struct detail details[DETAILS];
};

/* Waits of exited threads and waits whose object found no place in its thread's record. */
struct detail_key {
	__u64 object;
	__u32 tgid; /* 0: of processes that ended */
	__u32 account;
};

/* Threads that ended and found the ring full, folded by the comm of their process. */
struct fold {
	__u64 wall_ns, user_ns, kernel_ns;
	__u32 threads, processes;
	struct account_sum accounts[ACCOUNT_COUNT];
};

#include "core/records/operations.h"
#include "core/records/own_costs.h"
#include "core/records/answers.h"
#include "core/records/failed_calls.h"
#include "core/records/databases.h"
#include "core/records/devices.h"
#include "core/records/network.h"
#include "core/records/chains.h"
#include "core/records/memory.h"
#include "core/records/connections.h"
#include "core/records/requests.h"
#include "core/records/statements.h"
#include "core/records/scripts.h"
#include "core/records/events.h"
#include "core/records/settings.h"
