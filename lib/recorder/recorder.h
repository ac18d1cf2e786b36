/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The recorder: loads the BPF programs, follows the target, writes the recording.  It interprets nothing.
 *
 * main.c      signals, memory limits, where the recording goes, exit status
 * window/     one window from begin to end: command line, control protocol, header, what is done at each interval
 * program/    the BPF programs: which are needed, loading, attaching, what they cost; tables they are given
 * rows/       what threads did: snapshots, account sums, details, stacks, the ring buffer, host mode
 * tables/     what the programs keep beside the threads: devices, NFS, requests, sockets, VM exits, CPUs, the clock
 * facts/      files of /proc and /sys, read by children with a deadline and recorded as they stand
 * symbols/    names for addresses, also of processes that have ended
 * script/     scripts for bpftrace, bcc and DTrace that record where these programs cannot
 * output/     the JSON writer and the files it writes to
 * base/       capabilities, helper processes, /proc/PID, clock, clean-up attributes
 * launcher/   build/bin/perfdiag: starts the recorder before Python, then becomes Python
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>
#include <sys/types.h>
#include "output/json.h"
#include "base/lack.h"
#include "base/monotonic.h"
#include "facts/facts.h"
#include "output/output.h"
#include "core/records.h"
#include "symbols/symbols.h"
#include "symbols/unnamed_addresses.h"

#define NS_PER_SECOND 1000000000ULL
#ifndef PERFDIAG_VERSION
#error "the build gives PERFDIAG_VERSION"
#endif
#define MAX_TARGETS 4096
#define DESCENDANTS_DESCRIBED 16 /* workers mostly, which are alike */

struct perfdiag; /* the skeleton */

/* How requests of names without room are told, all together, and of all names, where none is kept. */
#define OTHER_NAMES "(other names)"
#define ALL_NAMES "(all names)"

/* How long requests, calls ("syscall:read") or SQL statements of one name may take. */
struct limit {
	uint64_t ns;
	char name[DIGEST_BYTES + 1];	 /* as the recording has it */
	char statement[STATEMENT_BYTES]; /* as it was typed; "": it is none */
};

#define ASKED_BYTES 2048

struct options {
	pid_t pids[MAX_TARGETS];
	bool on_exec[MAX_TARGETS]; /* followed from its exec on */
	size_t pid_count;
	struct group group;   /* whose processes are followed, whenever they come into it */
	uint64_t duration_ns; /* 0: until told to stop */
	uint64_t interval_ns;
	unsigned int patience_ms; /* for what is read about the host */
	uint64_t slo_ns;	  /* limit of what has none of its own */
	struct limit limits[LIMITS];
	size_t limit_count;
	char asked[ASKED_BYTES]; /* how the target was chosen, in the words of who did; nothing is decided by it */
	bool only, stacks, check;
	bool no_request_names; /* requests are told by port alone */
	bool no_apps;	       /* nothing is read of programs: counters, waits */
	bool host;	       /* all tasks are followed */
	bool has_max_cost;
	uint32_t max_cost_ppm; /* what the programs may take of the target's CPU time, in parts per million */
	int control_fd;	       /* -1: none */
	const char *script;    /* records instead of the own programs; NULL: none */
	const char *engine;    /* or the script that is for this one, or for any where they cannot; NULL: none */
	const char *scripts;   /* below which that lies */
};

/* A process outside the target. */
struct competitor {
	pid_t pid;
	uint64_t ns; /* that threads of the target waited behind it */
};

struct recorder {
	struct options options;
	struct perfdiag *skeleton;
	struct kernel_symbols *symbols;
	struct marker markers[MARKERS]; /* looked up while the programs are being loaded */
	size_t marker_count;
	struct output output;
	struct json json;
	struct probe_state *probes;
	struct thread_entry *threads; /* by serial */
	struct fold_entry *folds;     /* ended threads, by comm of their process */
	struct detail_entry *details; /* by process, account and object */
	struct stack_entry *stacks;
	struct unnamed unnamed;
	struct host *host;			    /* of host mode: what becomes of threads at the end */
	struct competitor competitors[COMPETITORS]; /* behind whom threads waited longest for a CPU */
	size_t competitor_count;
	pid_t described[MAX_TARGETS + DESCENDANTS_DESCRIBED]; /* processes that host facts are of */
	size_t described_count;
	struct account_sum exited_sums[ACCOUNT_COUNT];
	uint64_t exited_wall_ns;
	uint64_t start_ns, end_ns;
	uint64_t threads_seen, exits, exit_rows, thread_rows, living;
	uint64_t left_out;		    /* tasks of the host that never ran, and have no record */
	uint64_t folds_lost;		    /* ended threads whose time is lost */
	uint64_t details_lost, stacks_lost; /* tables of the recorder that were full */
	uint64_t rows_lost;		    /* threads that could not be read at the end */
	uint64_t events, events_lost;	    /* written, and beyond what is */
	uint64_t row_bytes;		    /* of thread rows in this interval */
	uint64_t next_rows_ns, next_series_ns, next_names_ns, next_sweep_ns;
	uint64_t switches;  /* sum of the records' sequences in the last snapshot: the same while no thread runs */
	uint64_t ran_ns;    /* CPU time of the target, in the last snapshot that was not torn, */
	uint64_t ran_at_ns; /* which was then */
	bool running;	    /* in the last snapshot a thread ran or could have run */
	bool waiting;	    /* in the last snapshot a thread waited for more than work */
	bool awake;	    /* EVENT_AWAKE came */
	int ring_fd;
	uint32_t stacks_one_of;		 /* of so many one is taken; 0: none */
	uint64_t calls_watched_until_ns; /* the results of system calls; 0: all of the window, or not at all */
	const char *reason;
	struct lack lack; /* what keeps it from recording; not told yet */
	bool declined;	  /* by a kernel that cannot take the own programs, whoever loads them */
};

extern const char *const account_names[ACCOUNT_COUNT];

/* program/: functions return 0 or -errno and have said on stderr what went wrong */
int probes_load(struct recorder *recorder); /* load.c: has it in `lack` */
int probes_attach(struct recorder *recorder);
void probes_write(struct recorder *recorder); /* the header's "probes" */
void probes_detach(struct recorder *recorder);

/* program/knobs.c */
uint64_t knobs_tick_ns(void);
void knobs_seed(struct recorder *recorder); /* before limits_fill() */
void knobs_pace_stacks(struct recorder *recorder);
void knobs_thin_stacks(struct recorder *recorder, uint32_t one_of); /* 0: none is taken any more */

/* program/ended_probes.c */
bool probes_watch_failed_calls(const struct recorder *recorder);
void probes_end_failed_calls(struct recorder *recorder); /* the host makes too many calls */
void probes_end_peers(struct recorder *recorder);
void probes_end_requests(struct recorder *recorder);

/* program/iterators.c */
int probes_sweep(struct recorder *recorder);
void probes_meet(struct recorder *recorder, pid_t tid); /* as a sweep, of one thread that may be gone */
int probes_meet_peers(struct recorder *recorder);	/* that the kernel side has asked for */
int probes_gather_reasons(struct recorder *recorder);	/* of living threads, into the map of all */
int probes_left_unread_fd(struct recorder *recorder);	/* struct left_unread, one after the other */
int probes_chains_fd(struct recorder *recorder);	/* struct chain_copy, likewise */
int probes_snapshot_fd(struct recorder *recorder);	/* an iterator over struct record, to be read and closed */

/* cost.c */
void cost_begin(void); /* while CAP_SYS_ADMIN is there */
void cost_next(struct recorder *recorder);
bool cost_is_sampled(void); /* the kernel counts at this moment */
void cost_end(struct recorder *recorder);
void cost_write(struct recorder *recorder);
int lost_count(struct recorder *recorder, unsigned int counter, uint64_t *ret); /* enum counter; 0 or -errno */
/* A program met itself on its CPU; at the end of a system call that is mostly somebody else's, and no time is lost. */
uint64_t skipped_runs(struct recorder *recorder, bool of_operations);

/* program/objectives.c */
/* `text` is the name that somebody typed; 0, or -EDOM and has said why. */
int limits_add(struct options *options, const char *text, uint64_t ns);
int limits_fill(struct recorder *recorder); /* the kernel side's map */
bool limits_of_calls(const struct options *options);
bool limits_of_statements(const struct options *options);
void limits_write(struct json *json, const struct options *options);

/* markers.c */
size_t markers_fill(const struct kernel_symbols *symbols, struct marker markers[MARKERS]);
void markers_fill_restarted(const struct kernel_symbols *symbols, struct restarted_call restarted[RESTARTED_CALLS]);
const char *marker_name(size_t index);

/* objects.c: writes an object under `key` (NULL in an array) */
void object_write(struct recorder *recorder, const char *key, __u64 object);
void peer_write(struct json *json, const char *key, int family, const void *address, unsigned int port);
void device_write(struct json *json, const char *key, __u32 device); /* "8:0" */
/* The name of a thread at this moment, "" if it has ended. */
void comm_write(struct recorder *recorder, const char *key, pid_t tid);

/* sums.c */
void sums_add(struct account_sum *sums, const struct account_sum *more);
/* One thread that has ended, or is to have no row; the sum of several. */
struct fold fold_of(const struct record *record);
void fold_merge(struct fold *fold, const struct fold *more);
void sums_write(struct json *json, const char *key, const struct account_sum *sums);
void fold_write(struct json *json, const struct fold *fold);
void counts_write(struct json *json, const char *key, const __u32 *buckets, int number); /* empty ones left out */
void buckets_write(struct json *json, const char *key, const __u32 *buckets);
/* Extends a record by its open segment; details that find no place in it are left in `spare` (zeroed before). */
#define OPEN_SEGMENTS 3
void book_open(struct record *record, struct detail spare[OPEN_SEGMENTS]);

/* rows.c */
/* A snapshot: sums of the target, with `thread_rows` also the threads that changed, with `last` all of them. */
int rows_interval(struct recorder *recorder, bool thread_rows, bool last);
void rows_exited(struct recorder *recorder, struct record *record, bool process_ended);
void rows_end(struct recorder *recorder);
/* `open`: the same record before its open segment was added. */
void thread_write(struct recorder *recorder, const struct record *record, const struct record *open);

/* rows/wait_roots.c */
void because_end(struct recorder *recorder); /* before the last rows: no wait is to have more roots than time */
void because_write(struct recorder *recorder);

/* rows/peer_waits.c */
void peer_waits_write(struct recorder *recorder);
void failed_calls_write(struct recorder *recorder);

/* details.c */
/* spare: what book_open() left over, or NULL; tgid: 0 for a process that ended */
void details_add(struct recorder *recorder, const struct record *record, const struct detail *spare, uint32_t tgid);
void fold_add(struct recorder *recorder, const char *comm, const struct fold *more);
void folded_write(struct recorder *recorder);

/* header.c */
int header_write(struct recorder *recorder);
void header_add_host(struct json *json);
void footer_write(struct recorder *recorder);

/* options.c: 0, -errno, or 1 when everything asked for is said already */
int options_parse(struct recorder *recorder, int argc, char **argv);

/* events.c */
int events_open(struct recorder *recorder);
int events_consume(void);
void events_pass(void); /* the same, for who does something else meanwhile */
void events_close(void);

/* stacks.c */
struct stack_event;
void stacks_add(struct recorder *recorder, const struct stack_event *event);
void stacks_name(struct recorder *recorder, unsigned int deadline_ms, bool last); /* the user frames */
void stacks_write(struct recorder *recorder);
void stacks_free(struct recorder *recorder);

/* tables/devices.c */
void tables_write(struct recorder *recorder);

/* sockets.c */
void sockets_write(struct recorder *recorder);
void packet_drops_write(struct recorder *recorder);

/* nfs.c */
void nfs_write(struct recorder *recorder);
__u64 nfs_object(struct recorder *recorder, __u64 object); /* the mount, where it is known by now */
void nfs_server_write(struct recorder *recorder, const char *key, __u64 client);
/* tables/guest_clock.c: in a guest, how fast this CPU runs; takes 10 to 15 ms each time */
void calibration_write(struct recorder *recorder);

/* cpus.c: read at either end of the window */
void cpus_begin(struct recorder *recorder);
void cpus_end(struct recorder *recorder);
void cpus_write(struct recorder *recorder);
/* tables/vm_exits.c: exits of virtual CPUs */
const char *vm_vendor_name(enum vm_vendor vendor);
void vm_exits_write(struct recorder *recorder);
/* requests.c */
void requests_begin(struct recorder *recorder);
void requests_end(struct recorder *recorder);
void requests_write(struct recorder *recorder);
void request_name_write(struct recorder *recorder, const char *key, __u32 hash);
/* tables/named_calls.c: calls that the target made, by what they ask for */
const char *direction_name(unsigned int direction);
void named_calls_write(struct recorder *recorder);
void answers_write(struct recorder *recorder);
void status_write(struct json *json, const char *key, unsigned int status); /* struct answer_key */
/* tables/sql_calls.c: statements that the target asked SQL servers for */
void sql_calls_write(struct recorder *recorder);
/* tables/unread_at_end.c: requests that nobody has read when the window ends */
int left_unread_take(struct recorder *recorder); /* before requests_end(): -ENOENT where sockets are not seen */
void left_unread_write(struct recorder *recorder);
/* tables/silent_connections.c: connections that nobody has used in the window, and that may hold a question without an answer */
void silent_add(struct recorder *recorder, const struct left_unread *found, __u64 now);
void silent_write(struct recorder *recorder);
/* tables/memory.c: files read, dirty pages */
void tables_write_memory(struct recorder *recorder);

/* window.c: 0, or what kept the recording from being made, as -errno */
int window_record(struct recorder *recorder, int signals);

/* script.c: the same by a script, which is begun after this; what went wrong is in `lack`. */
bool script_is_asked(const struct options *options);
bool script_may_replace(const struct options *options); /* the own programs, where the kernel declines them */
int script_record(struct recorder *recorder, int signals);

/* control.c */
int control_wait_start(struct options *options, struct output *output, int signals);
int control_attached(int fd); /* the window begins: says so, and outlives its parent until the recording has its end */
bool control_read(int fd);    /* whether to stop */
void control_say(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
