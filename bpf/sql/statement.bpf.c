// SPDX-License-Identifier: GPL-2.0-only
/*
 * statement - which SQL statements does a server of the target run, how long do they take, and where does their time go?
 *
 * HOOKS   uprobes on functions that servers export, attached to each server's program file that was recognised
 *         (lib/recorder/apps).  PostgreSQL: pgstat_report_activity() is told the text when one begins and no text when
 *         the session is idle again; PortalRun() runs it.  MariaDB, MySQL: dispatch_command(), from entry to return.
 * COST    two to five breakpoints a statement, about a microsecond each, and 1.6 us for a short text (pgbench -S).
 * CANNOT  see what a statement's helpers do (parallel workers): their time is a wait of the session.
 *
 * These programs can be preempted, and book nothing: at its begin they copy the thread's ledger, at its end subtract.
 * The text is the target's memory, and hostile.  Its digest is made here, so that no literal is ever stored.
 */
#include "core/buckets.bpf.h"
#include "sql/statement_text.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Arguments of a function, as the calling convention has them in registers. */
#if defined(__TARGET_ARCH_x86)
#define FIRST_OF(regs) (regs)->di
#define SECOND_OF(regs) (regs)->si
#define THIRD_OF(regs) (regs)->dx
#define FOURTH_OF(regs) (regs)->cx
#else
#define FIRST_OF(regs) ((const __u64 *)(regs))[0]
#define SECOND_OF(regs) ((const __u64 *)(regs))[1]
#define THIRD_OF(regs) ((const __u64 *)(regs))[2]
#define FOURTH_OF(regs) ((const __u64 *)(regs))[3]
#endif

/* In each account, by now. */
struct ledger_copy {
	__s64 ns[ACCOUNT_COUNT];
};

struct statement {
	__u64 begun;   /* 0: in none */
	__u64 address; /* of its text */
	struct statement_key key;
	__u32 executed;
	__u32 digested; /* `text` is its, and new */
	struct ledger_copy before, now;
	struct statement_text text;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct statement);
} statements_open SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 288); /* STATEMENTS, LIMITS, and those that have no digest */
	__type(key, struct statement_key);
	__type(value, struct statement_sum);
} statements SEC(".maps");

/* How long statements of one digest may take, by its hash. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LIMITED_DIGESTS);
	__type(key, __u64);
	__type(value, __u64);
} limits_of_statements SEC(".maps");

static __u32 statements_made;

static __always_inline __u64 *own_limit_of(__u64 hash)
{
	return knobs.statement_limits && hash ? bpf_map_lookup_elem(&limits_of_statements, &hash) : NULL;
}

static __always_inline struct statement *statement_of(struct task_struct *task, __u64 flags)
{
	return bpf_task_storage_get(&statements_open, task, NULL, flags);
}

/*
 * What the thread, which runs, has not booked yet.  Where its record says that it waits, the switch that let it run was not
 * announced (see book_unseen_run()): it runs since it was woken.
 */
static __always_inline void add_unbooked(const struct record *record, struct ledger_copy *copy, __u64 now)
{
	__u64 since = *(volatile __u64 *)&record->since, waking = *(volatile __u64 *)&record->waking;
	__u32 running = vm_account(record->vm, running_account(record->region)), waited = record->account;

	if (record->state == STATE_BLOCKED && waking > since && waking < now) {
		if (waited < ACCOUNT_COUNT)
			copy->ns[waited] += waking - since;
		since = waking;
	}
	if (running < ACCOUNT_COUNT && now > since)
		copy->ns[running] += now - since;
}

static __always_inline bool is_open(const struct record *record)
{
	return record->state != STATE_NEW && record->state != STATE_CLOSED;
}

/*
 * The thread's ledger until the time that is returned, or 0.  It writes that itself, at its switches: one came in between
 * where the sequence has changed.  Global, so that the verifier walks it once.
 */
__weak __noinline __u64 try_to_copy(struct record *record, struct ledger_copy *copy)
{
	__u32 sequence;
	__u64 now;

	if (!record || !copy)
		return 0;
	sequence = *(volatile __u32 *)&record->sequence;
	now = bpf_ktime_get_ns();
	for (int i = 0; i < ACCOUNT_COUNT; i++)
		copy->ns[i] = *(volatile __u64 *)&record->accounts[i].ns;
	add_unbooked(record, copy, now);
	barrier();
	return is_open(record) && !(sequence & 1) && *(volatile __u32 *)&record->sequence == sequence ? now : 0;
}

static __always_inline __u64 copy_ledger(struct record *record, struct ledger_copy *copy)
{
	for (int attempt = 0; attempt < 3; attempt++) {
		__u64 now = try_to_copy(record, copy);

		if (now)
			return now;
	}
	count_loss(COUNTER_STATEMENTS_TORN);
	return 0;
}

/* Where rules of literals and comments are told apart, MySQL's are MariaDB's. */
static __always_inline __u32 language_of(__u32 server)
{
	return server == SQL_MYSQL ? SQL_MARIADB : server;
}

static __always_inline void name_statement(struct statement *statement, bool readable)
{
	if (readable) {
		statement->key.kind = STATEMENT_RUN;
		statement->text.server = language_of(statement->key.server);
		make_digest(&statement->text);
		statement->key.hash = statement->text.hash;
		statement->digested = 1;
	} else {
		statement->key.kind = STATEMENT_UNREAD;
	}
}

/* Of the digest, the sum; made where there is room, and with the text where it is new. */
static __always_inline struct statement_sum *sum_of(struct statement *statement)
{
	struct statement_key key = statement->key; /* Linux 6.1 takes no key from the argument of a global function */
	struct statement_sum *sum = bpf_map_lookup_elem(&statements, &key);
	bool made = false;

	if (sum)
		return sum;
	if (key.hash && !own_limit_of(key.hash) && __sync_fetch_and_add(&statements_made, 1) >= STATEMENTS) {
		key.hash = 0;
		key.kind = STATEMENT_NO_ROOM;
		statement->digested = 0;
	}
	sum = FIND_OR_MAKE(statements, &key, COUNTER_STATEMENTS_FULL, &made);
	if (sum && made && statement->digested) {
		keep_digest(&sum->digest, &statement->text);
	}
	return sum;
}

/* As what follows global, so that the verifier does not walk one loop for each way through the other. */
__weak __noinline int add_accounts(struct statement_part_sum *part, struct statement *statement)
{
	if (!part || !statement)
		return 0;
	for (int i = 0; i < ACCOUNT_COUNT; i++) {
		__s64 ns = statement->now.ns[i] - statement->before.ns[i];

		if (ns)
			__sync_fetch_and_add(&part->accounts_ns[i], ns);
	}
	return 0;
}

__weak __noinline int keep_accounts(struct statement_sum *sum, struct statement *statement)
{
	if (!sum || !statement)
		return 0;
	for (int i = 0; i < ACCOUNT_COUNT; i++)
		sum->max_accounts_ns[i] = statement->now.ns[i] - statement->before.ns[i];
	return 0;
}

static __always_inline void count_statement(struct record *record, struct statement *statement,
					    struct statement_sum *sum, __u64 ns)
{
	__u64 *own = own_limit_of(statement->key.hash), limit = own ? *own : knobs.slo_ns;
	struct statement_part_sum *part = &sum->sums[limit && ns >= limit];

	__sync_fetch_and_add(&part->count, 1);
	__sync_fetch_and_add(&part->ns, ns);
	count_latency(&sum->latency, ns);
	add_accounts(part, statement);
	if (ns > sum->max_ns) { /* two can race for it: user space sees that parts and whole differ */
		sum->max_ns = ns;
		sum->max_at = statement->begun;
		sum->max_tid = record->tid;
		sum->max_tgid = record->tgid;
		keep_accounts(sum, statement);
	}
}

/* Global, so that the verifier walks it once. */
__weak __noinline int end_statement(struct record *record, struct statement *statement)
{
	struct statement_sum *sum;
	__u64 now = 0;

	if (!record || !statement || !statement->begun)
		return 0;
	if (!record->taken)
		now = copy_ledger(record, &statement->now);
	if (now) {
		sum = sum_of(statement);
		if (sum && now > statement->begun)
			count_statement(record, statement, sum, now - statement->begun);
	}
	statement->begun = 0;
	return 0;
}

__weak __noinline int begin_statement(struct record *record, struct statement *statement, __u32 server)
{
	if (!record || !statement)
		return 0;
	statement->executed = statement->digested = 0;
	statement->key.hash = 0;
	statement->key.server = server;
	statement->key.kind = STATEMENT_NOT_RUN;
	statement->begun = copy_ledger(record, &statement->before);
	return 0;
}

/* pgstat_report_activity(state, text): the numbers of states differ between versions, that a text comes with the first not. */
SEC("uprobe")
int postgres_activity(struct pt_regs *regs)
{
	__u64 text = SECOND_OF(regs);
	struct task_struct *task = bpf_get_current_task_btf();
	struct record *record = record_of(task);
	struct statement *statement;

	if (!record || !record->start)
		return 0;
	statement = statement_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!statement) {
		count_loss(COUNTER_STORAGE_FAILED);
		return 0;
	}
	/* A client that sends several before it waits for answers: the one before has run. */
	if (!text || (statement->begun && statement->executed))
		end_statement(record, statement);
	if (text && !statement->begun)
		begin_statement(record, statement, SQL_POSTGRESQL);
	statement->address = text;
	return 0;
}

/* PortalRun(): of a function's statements, too, while the first runs. */
SEC("uprobe")
int postgres_run(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record *record = record_of(task);
	struct statement *statement;

	if (!record)
		return 0;
	statement = statement_of(task, 0);
	if (!statement || !statement->begun || statement->executed)
		return 0;
	statement->executed = 1;
	name_statement(statement, read_string_at(&statement->text, statement->address, STATEMENT_BYTES));
	return 0;
}

#define MARIADB_QUERY 3
#define MARIADB_PREPARE 22
#define MARIADB_EXECUTE 23

/* One command of the protocol that both speak; its text, if it has any. */
__weak __noinline int begin_command(__u32 server, __u32 command, __u64 text, __u64 length)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record *record = record_of(task);
	struct statement *statement;

	if (!record || !record->start)
		return 0;
	statement = statement_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!statement) {
		count_loss(COUNTER_STORAGE_FAILED);
		return 0;
	}
	begin_statement(record, statement, server);
	if (command == MARIADB_QUERY)
		name_statement(statement, read_text_at(&statement->text, text, length));
	else if (command == MARIADB_EXECUTE)
		statement->key.kind = STATEMENT_PREPARED;
	else if (command != MARIADB_PREPARE)
		statement->key.kind = STATEMENT_OTHER;
	return 0;
}

/* dispatch_command(command, thd, packet, length) */
SEC("uprobe")
int mariadb_begin(struct pt_regs *regs)
{
	return begin_command(SQL_MARIADB, FIRST_OF(regs), THIRD_OF(regs), (__u32)FOURTH_OF(regs));
}

/* dispatch_command(thd, data, command): of a query the data begin with its text and how long that is. */
SEC("uprobe")
int mysql_begin(struct pt_regs *regs)
{
	struct {
		__u64 text;
		__u32 length;
	} query = {};
	__u32 command = THIRD_OF(regs);

	if (command == MARIADB_QUERY)
		bpf_probe_read_user(&query, sizeof(query), (void *)SECOND_OF(regs));
	return begin_command(SQL_MYSQL, command, query.text, query.length);
}

SEC("uretprobe")
int mariadb_end(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record *record = record_of(task);

	if (record)
		end_statement(record, statement_of(task, 0));
	return 0;
}
