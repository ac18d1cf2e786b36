#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * pgcache.d - Which reads of files are served from memory, and which have to wait for the disk?
 *
 * What was read before is still in the page cache, if there is memory for it. A read that finds all of its pages there
 * is a hit and takes microseconds; one that has to add a page is a miss and takes as long as the disk does.
 *
 * USAGE
 *   pgcache.d [PID [SECONDS]]
 *   PID      the process that is traced; without it, or 0: all processes
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  none: it needs tracepoints of Linux
 *   FreeBSD  none: it needs tracepoints of Linux
 *   macOS    none: it needs tracepoints of Linux
 *
 * REQUIRES
 *   DTrace for Linux, root; probes sdt:filemap::mm_filemap_add_to_page_cache, and those of the system calls read,
 *   pread64, readv, preadv, preadv2 and sendfile64.
 *
 * FIELDS
 *   hit_percent  share of reads that are hits, by PROCESS, FILE and INODE: 100 if the cache had everything
 *   reads_ns     reads, likewise and by HOW, hit or miss: how many, mean and sum of their lengths in nanoseconds
 *   read_bytes   bytes that were read, likewise, by hits and misses together
 *   added        how often pages were added outside of these reads, by PROCESS, DEVICE and INODE: by page faults of
 *                files that are mapped, by writes, by readahead(2)
 *   unseen       reads of which only the end was seen: one of each thread at the start, more were lost
 *
 * EXAMPLE
 *   # pgcache.d 237
 *   Tracing reads of files. Ctrl-C ends.
 *   hit_percent:
 *     read data 13  66
 *   reads_ns:
 *     read data 13 miss  count 17, average 6514016, total 110738278
 *     read data 13 hit  count 34, average 9385, total 319115
 *   read_bytes:
 *     read data 13  208896
 *   added:
 *
 *   A third of the reads were misses and took most of the time. Where this goes on, the file is larger than the memory
 *   that is left for it.
 *
 * OVERHEAD
 *   Attaches in 10 s and takes 102 MiB. Adds 33,579 instructions to each pread(2) of 4 KiB that are in memory, which
 *   then executes 17.50 times as many (17.48 to 17.51). Measured with DTrace 2.0.7 in an emulated Linux
 *   6.12.117+deb13-amd64 with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   Of a file that is read from its beginning to its end the kernel reads ahead: one miss then brings in what the next
 *   dozens of reads find. They are hits, also while its pages are still on their way; and the read that has more read
 *   ahead is a miss, though its own pages were there.
 *   A file of tmpfs, proc or sysfs is in memory: all its reads are hits. Reads past the cache (O_DIRECT, on x86) do not
 *   count. Metadata that a read needs is part of it.
 *   FILE is the last part of a path. On overlayfs INODE is that of the overlay in all but added.
 *   Not seen: reads by io_uring(7), aio(7), splice(2) and copy_file_range(2), of 32-bit processes.
 *
 * SEE ALSO
 *   perfdiag-latency(8): MEM-CACHE-MISSES MEM-MAJOR-FAULTS DISK-READ-SLOW
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing reads of files. Ctrl-C ends.\n");
}

/* begin a read */
syscall::read:entry,
syscall::pread64:entry,
syscall::readv:entry,
syscall::preadv*:entry
/target == 0 || pid == target/
{
	self->begin = timestamp;
	self->descriptor = arg0;
}

/* begin one that sends what it reads */
syscall::sendfile64:entry
/target == 0 || pid == target/
{
	self->begin = timestamp;
	self->descriptor = arg1;
}

/* note that a read has to add a page */
sdt:filemap::mm_filemap_add_to_page_cache
/self->begin != 0/
{
	self->missed = 1;
}

/* count what is added outside of reads */
sdt:filemap::mm_filemap_add_to_page_cache
/self->begin == 0 && (target == 0 || pid == target)/
{
	@added[stringof(curthread->group_leader->comm), args[3] >> 20, args[3] & 0xfffff, args[1]] = count();
}

/* look at the file of a read that is over: 0x8000 is S_ISREG, 0x4000 O_DIRECT */
syscall::read:return,
syscall::pread64:return,
syscall::readv:return,
syscall::preadv*:return,
syscall::sendfile64:return
/self->begin != 0 && (int64_t)arg1 > 0/
{
	this->file = curthread->files->fdt->fd[self->descriptor];
	this->inode = this->file->f_inode->i_ino;
	this->name = stringof(this->file->f_path.dentry->d_name.name);
	this->process = stringof(curthread->group_leader->comm);
	self->ns = (this->file->f_inode->i_mode & 0xf000) == 0x8000 && (this->file->f_flags & 0x4000) == 0 ?
	    timestamp - self->begin : 0;
}

/* book a read */
syscall::read:return,
syscall::pread64:return,
syscall::readv:return,
syscall::preadv*:return,
syscall::sendfile64:return
/self->ns != 0/
{
	this->how = self->missed ? "miss" : "hit";
	@hit_percent[this->process, this->name, this->inode] = avg(self->missed ? 0 : 100);
	@read_bytes[this->process, this->name, this->inode] = sum(arg1);
	@reads[this->process, this->name, this->inode, this->how] = count();
	@average_ns[this->process, this->name, this->inode, this->how] = avg(self->ns);
	@total_ns[this->process, this->name, this->inode, this->how] = sum(self->ns);
}

/* count a read whose beginning was not seen */
syscall::read:return,
syscall::pread64:return,
syscall::readv:return,
syscall::preadv*:return,
syscall::sendfile64:return
/self->begin == 0 && (target == 0 || pid == target)/
{
	@unseen = count();
}

/* forget a read that is over */
syscall::read:return,
syscall::pread64:return,
syscall::readv:return,
syscall::preadv*:return,
syscall::sendfile64:return
{
	self->begin = 0;
	self->descriptor = 0;
	self->missed = 0;
	self->ns = 0;
}

/* end after so many seconds */
profile:::tick-1s
/seconds > 0 && ++seconds_passed >= seconds/
{
	exit(0);
}

/* print the tables, each under its name */
dtrace:::END
{
	printf("\nhit_percent:\n");
	printa("  %s %s %d  %@d\n", @hit_percent);
	printf("reads_ns:\n");
	printa("  %s %s %d %s  count %@d, average %@d, total %@d\n", @reads, @average_ns, @total_ns);
	printf("read_bytes:\n");
	printa("  %s %s %d  %@d\n", @read_bytes);
	printf("added:\n");
	printa("  %s %d:%d %d  %@d\n", @added);
	printa("unseen: %@d\n", @unseen);
}
