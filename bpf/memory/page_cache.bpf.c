// SPDX-License-Identifier: GPL-2.0-only
/*
 * page_cache - which files does the target read that were not in memory?
 *
 * HOOKS   tp_btf mm_filemap_add_to_page_cache.  How long a read of which file waits is booked at the switch
 *         (memory/uncached_read.bpf.h).
 * COST    one look-up of task storage for pages that anybody on the host reads into memory, two more look-ups where it
 *         is the target: little beside the disk.
 * CANNOT  tell what a thread waited for from what was read ahead for it.  Reads that go past the page cache (O_DIRECT),
 *         or are done by a worker (io_uring), are not seen; pages found in memory are not counted.  Files of network
 *         file systems are left out: their misses are no reads of a disk of this host.
 */
#include "wait/call.bpf.h"
#include "memory/uncached_read.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* What a write brings in is no miss: it is made there, or read to be changed. */
static __always_inline bool is_read(struct task_struct *task)
{
	struct call call;

	if (!makes_calls(task->flags))
		return false;
	read_call(task, &call);
	if (call.number == -1)
		return true; /* a fault */
	switch (class_of(&call)) {
	case SYSCALL_FD_WRITE:
	case SYSCALL_FD_FILE:
	case SYSCALL_URING:
	case SYSCALL_AIO: return false;
	}
	return true;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(page_added, struct folio *folio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file_sum *sum;
	struct inode *inode;

	if (!record_of(task) || !is_read(task))
		return 0;
	inode = LOAD(address_space, LOAD(folio, folio, mapping), host);
	if (!inode || is_remote(LOAD(super_block, LOAD(inode, inode, i_sb), s_magic)))
		return 0;
	sum = sum_of_file(inode);
	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->pages, folio_pages(folio));
	sum->size_bytes = LOAD(inode, inode, i_size);
	return 0;
}
