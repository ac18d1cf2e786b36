/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slow_disk - a file that takes its time: a FUSE file system of one file, mounted over an existing file, that answers
 * every read, write, flush and open after a chosen time.  With a loop device on top of it, it is a disk of known
 * slowness for ext4, XFS, btrfs; used directly it is a slow remote file system.  Its truth is how many requests it served.
 * Ends when it is unmounted, or at SIGTERM after a lazy unmount.
 */
#include "fuse.h"

enum { ROOT_HANDLE = 1 };

static const char *backing_path = "disk.data", *mount_path = "disk";
static long read_us, write_us, flush_us, open_us, writeback;
static uint64_t reads, writes, flushes, opens, read_ns, write_ns, flush_ns, open_ns;
static int backing;
static volatile bool closing;

static void attributes(struct fuse_attr *ret)
{
	struct stat status;

	CHECK(fstat(backing, &status));
	*ret = (struct fuse_attr){
		.ino = FUSE_ROOT_ID,
		.size = status.st_size,
		.blocks = status.st_blocks,
		.mode = S_IFREG | 0600,
		.nlink = 1,
		.blksize = 4096,
	};
}

/* The time a request takes beyond that of the file below, counted from its arrival. */
static void take(long us, uint64_t begin, uint64_t *count, uint64_t *ns)
{
	uint64_t end = begin + us * 1000, now = now_ns();

	if (now < end)
		sleep_ns(end - now);
	*ns += now_ns() - begin;
	++*count;
}

static void serve_data(const struct fuse_in_header *in, const void *argument, void *data)
{
	const struct fuse_read_in *read_in = argument;
	const struct fuse_write_in *write_in = argument;
	uint64_t begin = now_ns();
	ssize_t done;

	if (in->opcode == FUSE_READ) {
		done = CHECK(pread(backing, data, read_in->size, read_in->offset));
		take(read_us, begin, &reads, &read_ns);
		answer(in->unique, 0, data, done);
	} else if (in->opcode == FUSE_WRITE) {
		done = CHECK(pwrite(backing, write_in + 1, write_in->size, write_in->offset));
		take(write_us, begin, &writes, &write_ns);
		answer(in->unique, 0, &(struct fuse_write_out){ .size = done }, sizeof(struct fuse_write_out));
	} else {
		take(flush_us, begin, &flushes, &flush_ns);
		answer(in->unique, 0, NULL, 0);
	}
}

static void serve(const struct fuse_in_header *in, const void *argument, void *data)
{
	struct fuse_attr_out attr = { .attr_valid = 3600 };

	switch (in->opcode) {
	case FUSE_INIT:
		answer_init(in, argument, writeback ? 1 << 17 : 0,
			    FUSE_BIG_WRITES | (writeback ? FUSE_WRITEBACK_CACHE : 0));
		break;
	case FUSE_SETATTR:
		if (((const struct fuse_setattr_in *)argument)->valid & FATTR_SIZE)
			CHECK(ftruncate(backing, ((const struct fuse_setattr_in *)argument)->size));
		/* fall through */
	case FUSE_GETATTR:
		attributes(&attr.attr);
		answer(in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		take(open_us, now_ns(), &opens, &open_ns);
		answer(in->unique, 0,
		       &(struct fuse_open_out){ .fh = ROOT_HANDLE, .open_flags = writeback ? 0 : FOPEN_DIRECT_IO },
		       sizeof(struct fuse_open_out));
		break;
	case FUSE_READ:
	case FUSE_WRITE:
	case FUSE_FSYNC: serve_data(in, argument, data); break;
	case FUSE_FLUSH:
	case FUSE_RELEASE: answer(in->unique, 0, NULL, 0); break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: break;
	default: answer(in->unique, ENOSYS, NULL, 0);
	}
}

static void stop(int number)
{
	(void)number;
	closing = true;
	umount2(mount_path, MNT_DETACH);
}

int main(int argc, char **argv)
{
	bool wait = parse_options(
		argc, argv,
		KNOBS(TEXT("file", backing_path, "where the data is kept"),
		      TEXT("mount", mount_path, "the file it is mounted over"),
		      NUMBER("read-us", read_us, "time of a read"), NUMBER("write-us", write_us, "time of a write"),
		      NUMBER("flush-us", flush_us, "time of a flush"), NUMBER("open-us", open_us, "time of an open()"),
		      NUMBER("writeback", writeback, "1: keep dirty pages in the page cache")));
	char *request = malloc(LARGEST_REQUEST), *data = malloc(LARGEST_REQUEST);
	ssize_t bytes;

	backing = CHECK(open(backing_path, O_RDWR));
	fuse_mount("slow_disk", mount_path, "rootmode=100000");
	/* Whoever was last in a namespace unmounts what is in it, and would wait for itself if that is kept here. */
	CHECK(unshare(CLONE_NEWNS));
	signal(SIGTERM, stop);
	signal(SIGINT, stop);
	start_work(false);
	if (wait) {
		printf("{\"ready\": true, \"pid\": %d}\n", getpid());
		fflush(stdout);
	}
	while ((bytes = read(device, request, LARGEST_REQUEST)) > 0 || errno == EINTR || errno == ENOENT) {
		if (bytes > 0)
			serve((void *)request, request + sizeof(struct fuse_in_header), data);
		if (closing && bytes < 0)
			break;
	}
	PRINT_TRUTH({ "reads", reads }, { "writes", writes }, { "flushes", flushes }, { "read_ns", read_ns },
		    { "write_ns", write_ns }, { "flush_ns", flush_ns }, { "opens", opens }, { "open_ns", open_ns });
	return 0;
}
