/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread waits for that waits for several descriptors at once: poll, select, epoll.
 *
 * A thread that awaits answers, and beside them at most a descriptor to be woken by, waits for whom it has asked.  One
 * that polls nothing but pipes in the middle of a request waits for who writes there: a child, with its errors.  One
 * that awaits work as well (a listening socket, an accepted connection, input) has nothing to do: it waits for events,
 * whatever calls are under way meanwhile; those are told with the connections.
 */
#pragma once
#include "core/buckets.bpf.h"
#include "wait/classify_file.bpf.h"
#include "wait/poll_set_item.bpf.h"

#define SET_WORDS 16  /* of 64 descriptors each, of a set of select() */
#define LARGE_SETS 63 /* so many waits of a loop with a large set go by until it is looked at again */

struct pollfd {
	__s32 fd;
	__s16 events, returned;
};

#define POLLOUT 0x0004

static long look_at_polled(__u32 index, struct set *set)
{
	struct pollfd item;

	if (bpf_probe_read_user(&item, sizeof(item), (void *)(set->next + index * sizeof(item)))) {
		set->mixed = true;
		return 1;
	}
	if (item.fd < 0)
		return 0;
	set->fd = item.fd;
	set->class = item.events & POLLOUT ? SYSCALL_SEND : SYSCALL_RECEIVE;
	set->file = file_of(set->task, set->fd);
	return look_at_item(set) != 0;
}

/* The next word of a set of select's, as far as it counts. */
static __always_inline __u64 read_word(const struct set *set, __u64 address)
{
	__u32 left = set->limit - set->words * 64;
	__u64 word = 0;

	if (address)
		bpf_probe_read_user(&word, sizeof(word), (void *)(address + set->words * sizeof(word)));
	return left < 64 ? word & ((1ULL << left) - 1) : word;
}

/* Looks at the next descriptor of select's sets, or reads the next words of these. */
static long look_at_selected(__u32 step, struct set *set)
{
	__u64 both = set->reading | set->writing, bit = both & -both;

	if (!both) {
		if (set->words * 64 >= set->limit)
			return 1;
		set->reading = read_word(set, set->next);
		set->writing = read_word(set, set->before);
		set->words++;
		return 0;
	}
	set->fd = (set->words - 1) * 64 + count_bits(bit - 1);
	set->class = set->writing & bit ? SYSCALL_SEND : SYSCALL_RECEIVE;
	set->reading &= ~bit;
	set->writing &= ~bit;
	set->file = file_of(set->task, set->fd);
	return look_at_item(set) != 0;
}

/* One step through the tree of an epoll instance: each node is come to from above, from its left and from its right. */
static long look_at_node(__u32 step, struct set *set)
{
	struct rb_node *node = (struct rb_node *)set->next;
	struct epitem *item = (void *)node - bpf_core_field_offset(struct epitem, rbn);
	__u64 left, right, above, before = set->before;

	if (!node)
		return 1;
	left = (__u64)LOAD(rb_node, node, rb_left);
	right = (__u64)LOAD(rb_node, node, rb_right);
	above = LOAD(rb_node, node, __rb_parent_color) & ~3UL;
	set->before = set->next;
	if (before == above)
		set->next = left ? left : right ? right : above;
	else
		set->next = before == left && right ? right : above;
	if (before != above)
		return 0;
	set->file = LOAD(epitem, item, ffd.file);
	set->fd = LOAD(epitem, item, ffd.fd);
	return look_at_item(set) != 0;
}

/*
 * Prepares to look at what a thread waits for.  Global, so that the verifier knows nothing of what it wrote: that of
 * 6.1 looks at the body of a loop once, takes what it finds then for what it finds every time, and removes all other
 * code.
 */
__weak __noinline int begin_set(struct set *set, struct blocked *blocked, __u32 class)
{
	struct eventpoll *instance;
	struct file *file;

	if (!set || !blocked)
		return 0;
	set->task = blocked->task;
	set->peer = set->asked = SET_EVENTS;
	set->next = blocked->call.arguments[0];
	if (class == SYSCALL_SELECT) {
		set->limit = blocked->call.arguments[0];
		set->next = blocked->call.arguments[1];
		set->before = blocked->call.arguments[2];
	} else if (class == SYSCALL_EVENTS) {
		file = file_of(set->task, set->next);
		instance = file ? LOAD(file, file, private_data) : NULL;
		set->next = instance ? (__u64)LOAD(eventpoll, instance, rbr.rb_root.rb_node) : 0;
		set->tree = true;
		/* It may be edge-triggered: who waits there to send need not be unable to. */
		set->class = SYSCALL_RECEIVE;
	}
	return 0;
}

/*
 * Looks at the whole set: what the thread waits for, which may be in the middle of a request; see wait_of(), SET_EVENTS,
 * SET_SERVES or SET_TIMER.
 */
__weak __noinline int look_at_set(struct blocked *blocked, __u32 class, bool serving)
{
	struct set set = {};
	__u32 polled;

	if (!blocked)
		return SET_EVENTS;
	begin_set(&set, blocked, class);
	polled = blocked->call.arguments[1];
	if (class == SYSCALL_EVENTS)
		bpf_loop(2 * (SET_ITEMS + 1), look_at_node, &set, 0);
	else if (class == SYSCALL_POLL && polled <= SET_ITEMS)
		bpf_loop(polled, look_at_polled, &set, 0);
	else if (class == SYSCALL_SELECT && set.limit <= SET_WORDS * 64)
		bpf_loop(SET_WORDS + SET_ITEMS + 1, look_at_selected, &set, 0);
	else
		return SET_EVENTS;
	if (!set.items && !set.mixed)
		return set.tree ? SET_EVENTS : SET_TIMER; /* another thread can add to an epoll instance */
	if (set.tree && set.items > SET_ITEMS)
		return SET_LARGE;
	if (set.items == 1 && !set.tree && set.file && !set.own)
		return wait_of(set.fd, set.class);
	if (serving && !set.tree && set.pipes && set.pipes == set.items)
		return set.pipe;
	if (set.mixed)
		return set.serves ? SET_SERVES : SET_EVENTS;
	if (set.asked != SET_EVENTS)
		return set.asked;
	return set.peers == 1 && !set.tree ? set.peer : SET_EVENTS;
}

/*
 * A file that is polled for input and of which the kernel knows nobody at the other end (a terminal, a device, a packet
 * socket): read() of it may be for an answer, but who polls does so for events, as of several descriptors.
 */
static __always_inline struct wait wait_for_polled(struct blocked *blocked, __u32 fd, __u32 class)
{
	struct wait wait = wait_for_file(blocked, fd, class);

	if (class == SYSCALL_RECEIVE && wait.account == ACCOUNT_KERNEL_OTHER &&
	    wait.object == call_object(&blocked->call))
		return WAIT(ACCOUNT_WAIT_EVENTS, 0);
	return wait;
}

/*
 * Of a single descriptor poll() and select() are a read or a write: libpq, curl and many others wait for an answer so;
 * but not of a pipe that only the process itself writes to, nor of a file without anybody at the other end.
 * Only the current task's memory can be read; and of select's arguments in 32 bits only some are addresses of sets.
 */
static __always_inline struct wait classify_set(struct record *record, struct blocked *blocked, __u32 class)
{
	__u32 first = blocked->call.arguments[0], second = blocked->call.arguments[1];
	__s32 found;

	/* Of no descriptor it is a sleep: Python's time.sleep() before 3.11, and many older programs. */
	if ((class == SYSCALL_POLL && !second) || (class == SYSCALL_SELECT && !first))
		return WAIT(ACCOUNT_WAIT_TIMER, 0);
	if (blocked->other_task || (class == SYSCALL_SELECT && blocked->call.i386))
		return WAIT(ACCOUNT_WAIT_EVENTS, 0);
	if (class == SYSCALL_EVENTS && record->large_set) {
		record->large_set--;
		blocked->serves = true;
		return WAIT(ACCOUNT_WAIT_EVENTS, 0);
	}
	found = look_at_set(blocked, class, is_serving(record));
	if (found == SET_LARGE)
		record->large_set = LARGE_SETS;
	blocked->serves = found == SET_LARGE || found == SET_SERVES;
	if (found < 0)
		return WAIT(found == SET_TIMER ? ACCOUNT_WAIT_TIMER : ACCOUNT_WAIT_EVENTS, 0);
	return wait_for_polled(blocked, found & 0xffffff, (__u32)found >> 24);
}
