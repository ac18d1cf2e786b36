// SPDX-License-Identifier: GPL-2.0-only
/*
 * disk_user - who has how much read from a disk, or written to it?
 *
 * HOOKS   tp_btf block_bio_queue.
 * COST    one hash look-up for each piece of I/O that is handed to a disk, or to a volume above one.
 * CANNOT  see whose pages a kernel thread writes back: it stands there itself.  Nor what RAID 0, linear volumes and
 *         multipath of NVMe hand on to a disk: that is the bio that was seen above, which is told once.  Of discards
 *         only the number counts: they move no data.
 */
#include "core/maps.bpf.h"
#include "disk/disk_number.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct disk_user_key);
	__type(value, struct disk_user);
} disk_users SEC(".maps");

/* As in include/uapi/linux/sched.h. */
enum { SCHED_FIFO = 1, SCHED_RR, SCHED_IDLE = 5, SCHED_DEADLINE };

#define IO_CLASS_SHIFT 13 /* IOPRIO_CLASS_SHIFT */

/* The class of a thread's I/O: what ionice has set, or else what follows from how it is scheduled (__get_task_ioprio()). */
static __always_inline __u32 io_class_of(struct task_struct *task)
{
	struct io_context *context = LOAD(task_struct, task, io_context);
	__u32 class = context ? LOAD(io_context, context, ioprio) >> IO_CLASS_SHIFT : IO_CLASS_NONE;

	if (class != IO_CLASS_NONE)
		return class;
	switch (LOAD(task_struct, task, policy)) {
	case SCHED_IDLE: return IO_CLASS_IDLE;
	case SCHED_FIFO:
	case SCHED_RR:
	case SCHED_DEADLINE: return IO_CLASS_REAL_TIME;
	}
	return IO_CLASS_BEST_EFFORT;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(block_bio_queue, struct bio *bio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct gendisk *disk = LOAD(block_device, LOAD(bio, bio, bi_bdev), bd_disk);
	struct cpu_state *cpu = this_cpu();
	struct disk_user_key key = {};
	struct disk_user *user;
	bool made = false;

	if (!disk)
		return 0;
	key.device = number_of_disk(disk);
	key.pid = cpu && cpu->interrupts ? 0 : task->tgid; /* an interrupt works for somebody else */
	user = FIND_OR_MAKE(disk_users, &key, COUNTER_DISK_USERS_FULL, &made);
	if (!user)
		return 0;
	if (made && key.pid) {
		user->kernel_thread = task->flags & PF_KTHREAD ? 1 : 0;
		user->io_class = io_class_of(task);
		bpf_probe_read_kernel(user->comm, sizeof(user->comm), LOAD(task_struct, task, group_leader)->comm);
	}
	__sync_fetch_and_add(&user->count, 1);
	switch (bio->bi_opf & REQUEST_OPERATION) {
	case REQUEST_READ: __sync_fetch_and_add(&user->read_bytes, bio->bi_iter.bi_size); break;
	case REQUEST_WRITE_ZEROES: /* the kernel's statistics count it as writing, too */
	case REQUEST_WRITE: __sync_fetch_and_add(&user->written_bytes, bio->bi_iter.bi_size); break;
	}
	return 0;
}
