// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "script/script_sleepers.h"
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/helper.h"
#include "base/monotonic.h"
#include "base/privileges.h"
#include "base/process_files.h"
#include "base/receive.h"
#include "program/syscall_table.h"

#define THREADS_MAX 10000 /* with the lines of the script's own no more than a recording of a script may have */
#define DEADLINE_MS 1000
#define NAME_BYTES 16

struct thread {
	pid_t tid;		/* 0: the last one of a list that is whole */
	uint32_t class;		/* of the system call that it is in */
	uint64_t ran_ns, turns; /* on a CPU, ever */
	char state, name[NAME_BYTES];
	bool seen;
};

struct list {
	struct thread *threads;
	size_t count;
	bool whole;
};

struct question {
	pid_t pid;
	bool in_full; /* what each sleeps for, too */
};

static struct list first, last;

/* What a call sleeps for, where it says so; of those that slept through a window it is no fault of anybody's. */
static const char *const accounts[] = {
	[SYSCALL_FSYNC] = "disk.flush",	   [SYSCALL_SYNC] = "disk.flush",    [SYSCALL_MSYNC] = "disk.flush",
	[SYSCALL_EVENTS] = "wait.events",  [SYSCALL_SELECT] = "wait.events", [SYSCALL_POLL] = "wait.events",
	[SYSCALL_SLEEP] = "wait.timer",	   [SYSCALL_CHILD] = "wait.child",   [SYSCALL_SIGNAL] = "wait.signal",
	[SYSCALL_CONNECT] = "net.connect", [SYSCALL_ACCEPT] = "net.accept",
};

static const char *account_of(const struct thread *thread)
{
	if (thread->state == 'T' || thread->state == 't')
		return "wait.stopped";
	if (thread->class < sizeof(accounts) / sizeof(*accounts) && accounts[thread->class])
		return accounts[thread->class];
	return thread->state == 'D' ? "kernel.other" : "wait.parked"; /* for work or for an answer, cannot tell */
}

static size_t read_text(int directory, const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

	text[length > 0 ? length : 0] = 0;
	return length > 0 ? length : 0;
}

static bool is_32_bit(pid_t pid)
{
	char path[32], head[EI_NIDENT + 1];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return read_text(AT_FDCWD, path, head, sizeof(head)) > EI_CLASS && head[EI_CLASS] == ELFCLASS32;
}

/* Why it sleeps: its state, and the call that it is in. */
static void read_sleep(int directory, bool is_i386, struct thread *thread)
{
	char text[512];
	const char *state;
	long number;

	read_text(directory, "comm", thread->name, sizeof(thread->name));
	for (char *at = thread->name; *at; at++)
		if ((unsigned char)*at < ' ')
			*at = at[1] ? '?' : 0; /* the last one is the line's end */
	read_text(directory, "status", text, sizeof(text));
	state = strstr(text, "\nState:\t");
	thread->state = state ? state[strlen("\nState:\t")] : 0;
	read_text(directory, "syscall", text, sizeof(text));
	if (sscanf(text, "%ld", &number) == 1 && number >= 0)
		thread->class = is_i386 ? syscall_class_i386(number) : syscall_class_native(number);
}

/* In the helper: syscall waits for an exec of the process to get through. */
static void list_threads(const void *argument, int fd)
{
	const struct question *question = argument;
	_cleanup_closedir_ DIR *tasks = NULL;
	bool is_i386 = question->in_full && is_32_bit(question->pid);
	struct thread thread = {};
	struct dirent *entry;
	char text[128];

	snprintf(text, sizeof(text), "/proc/%d/task", question->pid);
	tasks = opendir(text);
	for (size_t count = 0; tasks && (entry = readdir(tasks)); count++) {
		_cleanup_close_ int directory = openat(dirfd(tasks), entry->d_name, O_PATH | O_CLOEXEC);

		thread = (struct thread){ .tid = atoi(entry->d_name) };
		if (thread.tid <= 0 || directory < 0)
			continue;
		if (count > THREADS_MAX)
			return;
		read_text(directory, "schedstat", text, sizeof(text));
		if (sscanf(text, "%" SCNu64 " %*u %" SCNu64, &thread.ran_ns, &thread.turns) != 2)
			continue; /* it has ended */
		if (question->in_full)
			read_sleep(directory, is_i386, &thread);
		if (send(fd, &thread, sizeof(thread), MSG_NOSIGNAL) != sizeof(thread))
			return;
	}
	thread = (struct thread){};
	send(fd, &thread, sizeof(thread), MSG_NOSIGNAL);
}

static const struct helper_task listing = { "perfdiag-threads", OF_SLEEPERS, list_threads };

static int by_tid(const void *left, const void *right)
{
	const struct thread *a = left, *b = right;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

static void ask(struct list *list, const struct question *question)
{
	int64_t deadline = monotonic_ms() + DEADLINE_MS;
	struct thread thread;
	struct helper helper;

	free(list->threads);
	*list = (struct list){ .threads = calloc(THREADS_MAX, sizeof(thread)) };
	if (!list->threads || helper_start(&helper, &listing, question))
		return;
	while (!list->whole && list->count < THREADS_MAX && !receive_by(helper.fd, &thread, sizeof(thread), deadline)) {
		list->whole = !thread.tid;
		if (thread.tid)
			list->threads[list->count++] = thread;
	}
	helper_end(&helper);
	qsort(list->threads, list->count, sizeof(thread), by_tid);
}

static struct thread *find(const struct list *list, pid_t tid)
{
	struct thread key = { .tid = tid };

	return list->count ? bsearch(&key, list->threads, list->count, sizeof(key), by_tid) : NULL;
}

void script_sleepers_begin(pid_t pid)
{
	ask(&first, &(struct question){ .pid = pid });
}

void script_sleepers_end(pid_t pid)
{
	ask(&last, &(struct question){ .pid = pid, .in_full = true });
}

void script_sleepers_seen(const char *line, size_t length)
{
	const char *tid = memmem(line, length, "\"tid\":", strlen("\"tid\":"));
	struct thread *thread = tid ? find(&first, atoi(tid + strlen("\"tid\":"))) : NULL;

	if (thread)
		thread->seen = true;
}

static int write_thread(struct output *output, pid_t pid, const struct thread *thread, uint64_t start_ns,
			uint64_t end_ns)
{
	_cleanup_free_ char *line = NULL;
	const char *account = account_of(thread);
	uint64_t ns = end_ns - start_ns;
	int length;

	length = asprintf(&line,
			  "{\"type\":\"thread\",\"at_ns\":%" PRIu64 ",\"serial\":%" PRIu64
			  ",\"pid\":%d,\"tid\":%d,\"namespace_tid\":%d,\"state\":\"alive\",\"start_ns\":%" PRIu64
			  ",\"wall_ns\":%" PRIu64 ",\"user_ns\":0,\"kernel_ns\":0,\"accounts\":[[\"%s\",%" PRIu64
			  ",1,%" PRIu64 "]],\"open\":{\"account\":\"%s\",\"object\":\"\",\"since_ns\":%" PRIu64
			  "},\"comm\":\"%s\"}",
			  end_ns, UINT32_MAX + (uint64_t)thread->tid, pid, thread->tid, thread->tid, start_ns, ns,
			  account, ns, ns, account, start_ns, thread->name);
	return length < 0 ? -ENOMEM : output_line(output, line, length);
}

int script_sleepers_write(struct output *output, pid_t pid, uint64_t start_ns, uint64_t end_ns, struct unseen *unseen)
{
	int err = 0;

	*unseen = (struct unseen){};
	if (!first.whole || (last.count && !last.whole) || end_ns <= start_ns)
		return -ENODATA;
	for (size_t i = 0; i < first.count && !err; i++) {
		const struct thread *then = &first.threads[i], *now = find(&last, then->tid);

		if (then->seen)
			continue;
		if (!now || now->turns != then->turns || now->ran_ns != then->ran_ns || now->state == 'R') {
			unseen->other++;
			continue;
		}
		unseen->asleep++;
		err = write_thread(output, pid, now, start_ns, end_ns);
	}
	return err;
}
