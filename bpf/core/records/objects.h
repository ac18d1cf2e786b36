/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h that says what a thread waits for or works on; included there. */
#pragma once

/* An object is a kind in the upper byte and 56 bits of identity; `names` holds what does not fit. */
enum object_kind {
	OBJECT_NONE,
	OBJECT_DEVICE,	   /* dev_t of the kernel: major << 20 | minor */
	OBJECT_PEER,	   /* IPv4 address << 16 | port, both in host order */
	OBJECT_PEER6,	   /* hash of struct object_name */
	OBJECT_UNIX,	   /* pid of who made the other end: it listened, connected, or made the pair */
	OBJECT_TASK,	   /* pid of a process outside the target */
	OBJECT_OWN,	   /* pid of a process of the target */
	OBJECT_CGROUP,	   /* inode number */
	OBJECT_IDLE_STATE, /* index + 1 or IDLE_AWAKE, with IDLE_LEFT; 0: no idle state known */
	OBJECT_SYSCALL,	   /* number, or number | OBJECT_SYSCALL_I386 */
	OBJECT_FUTEX,	   /* user address */
	OBJECT_PIPE,	   /* inode number */
	OBJECT_FILE,	   /* hash of struct object_name */
	OBJECT_FUNCTION,   /* index into the markers */
	OBJECT_PORT,	   /* local port */
	OBJECT_MOUNT,	   /* dev_t of the superblock */
	OBJECT_IN_FLIGHT,  /* enum in_flight */
	OBJECT_EXIT,	   /* the thread is exiting */
	OBJECT_RETURN,	   /* work on the way back to user space */
	OBJECT_FAULT,	   /* a page fault of a kind not shown */
	OBJECT_WORKER,	   /* a kernel worker serving the target */
	OBJECT_RPC,	   /* id of the RPC client: the NFS mount, or server, that the thread called last */
	OBJECT_VM_EXIT,	   /* enum vm_vendor << 32 | its exit code */
	OBJECT_LIMIT,	   /* of a memory cgroup: enum memory_limit */
	OBJECT_ORDER,	   /* 2^order pages in one piece */
	OBJECT_REQUEST,	   /* hash of a request's name */
	OBJECT_ABSTRACT,   /* hash of the abstract name of a unix socket */
	OBJECT_POSTGRES,   /* wait_event_info of PostgreSQL, with POSTGRES_IN_TRANSACTION */
	OBJECT_DEADLINE,   /* the runtime that the thread has reserved (SCHED_DEADLINE) */
	OBJECT_REALTIME,   /* the runtime that the kernel leaves to real-time threads (sched_rt_runtime_us) */
	OBJECT_STOP,	   /* enum stop */
};

/* What stopped a thread. */
enum stop { STOP_SIGNAL, STOP_TRACER, STOP_FREEZER };

/* Why a runnable thread is held back: whose runtime is used up. */
enum throttled {
	THROTTLED_NOT,
	THROTTLED_GROUP,    /* only on kernels without a throttled clock */
	THROTTLED_DEADLINE, /* its own (SCHED_DEADLINE) */
	THROTTLED_YIELDED,  /* likewise, but it has given up the rest: it wants to wait for its next period */
	THROTTLED_REALTIME, /* that of all real-time threads of its CPU */
};

/* What a ring of io_uring or a context of libaio has to do, but for what waits until somebody wants something. */
enum in_flight { IN_FLIGHT_NONE, IN_FLIGHT_SOME, IN_FLIGHT_UNKNOWN };

#define OBJECT_SYSCALL_I386 (1ULL << 32)
#define OBJECT(kind, id) ((__u64)(kind) << 56 | ((__u64)(id) & ((1ULL << 56) - 1)))
#define OBJECT_KIND(object) ((object) >> 56)
#define OBJECT_ID(object) ((object) & ((1ULL << 56) - 1))

static inline __u32 account_of_throttled(__u32 throttled)
{
	return throttled == THROTTLED_YIELDED ? ACCOUNT_WAIT_TIMER : ACCOUNT_RUNQ_THROTTLED;
}

/* Its control group, where that is known, is whose quota may be used up. */
static inline __u64 object_of_throttled(__u32 throttled, __u64 cgroup)
{
	switch (throttled) {
	case THROTTLED_DEADLINE: return OBJECT(OBJECT_DEADLINE, 0);
	case THROTTLED_YIELDED: return 0;
	case THROTTLED_REALTIME: return OBJECT(OBJECT_REALTIME, 0);
	default: return cgroup;
	}
}

#define FILE_NAME_BYTES 44
#define REQUEST_NAME_BYTES 55
#define ABSTRACT_NAME_BYTES 55 /* of 107 */

struct object_name {
	union {
		char comm[16];
		struct {
			__u8 address[16];
			__u16 port, family;
		} peer;
		struct {
			__u64 inode;
			__u32 device;
			char base[FILE_NAME_BYTES]; /* its last path component, which may be cut */
		} file;
		struct {
			char text[REQUEST_NAME_BYTES]; /* "GET /users/#" */
			__u8 length;
		} request;
		struct {
			char text[ABSTRACT_NAME_BYTES]; /* any bytes, of which some may be cut */
			__u8 length;
		} abstract;
	};
	__u32 padding;
};
