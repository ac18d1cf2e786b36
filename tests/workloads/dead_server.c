/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dead_server - the server of a remote file system that dies: a directory (FUSE) with `program`, a copy of a given
 * executable, and `data`, zeroes that can be written (it says when that happens first).  At SIGUSR1 it says so and
 * answers nothing any more; requests are still taken from the kernel, so that even a kill does not get a process out of
 * a wait for one.  Ends at SIGTERM, or with its parent: then the kernel fails all that still wait.  Its truth is what it
 * answered and what it did not.
 */
#include "fuse.h"
#include <sys/prctl.h>

enum { PROGRAM = 2, DATA = 3, DATA_BYTES = 64 << 20, CACHED_SECONDS = 3600 };

static const char *program_path = "program", *mount_path = "remote";
static uint64_t answered, unanswered;
static int program;

static bool was_written;

static void say(const char *what)
{
	printf("{\"%s\": true}\n", what);
	fflush(stdout);
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attr = { .ino = node, .nlink = 1, .blksize = 4096, .mode = S_IFREG | 0755 };
	struct stat status;

	CHECK(fstat(program, &status));
	attr.size = node == PROGRAM ? status.st_size : node == DATA ? DATA_BYTES : 0;
	if (node == FUSE_ROOT_ID)
		attr.mode = S_IFDIR | 0755;
	return attr;
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	uint64_t node = !strcmp(name, "program") ? PROGRAM : !strcmp(name, "data") ? DATA : 0;
	struct fuse_entry_out entry = { .nodeid = node, .entry_valid = CACHED_SECONDS, .attr_valid = CACHED_SECONDS };

	if (!node)
		return answer(in->unique, ENOENT, NULL, 0);
	entry.attr = attributes(node);
	answer(in->unique, 0, &entry, sizeof(entry));
}

static void read_file(const struct fuse_in_header *in, const struct fuse_read_in *wanted, char *data)
{
	ssize_t bytes = wanted->size;

	memset(data, 0, bytes);
	if (in->nodeid == PROGRAM)
		bytes = CHECK(pread(program, data, bytes, wanted->offset));
	answer(in->unique, 0, data, bytes);
}

static void serve(const struct fuse_in_header *in, const void *argument, char *data)
{
	const struct fuse_write_in *written = argument;
	const struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };
	struct fuse_attr_out attr = { .attr_valid = CACHED_SECONDS, .attr = attributes(in->nodeid) };

	switch (in->opcode) {
	case FUSE_INIT: return answer_init(in, argument, 1 << 17, FUSE_BIG_WRITES);
	case FUSE_LOOKUP: return look_up(in, argument);
	case FUSE_SETATTR:
	case FUSE_GETATTR: return answer(in->unique, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
	case FUSE_OPENDIR: return answer(in->unique, 0, &opened, sizeof(opened));
	case FUSE_READ: return read_file(in, argument, data);
	case FUSE_WRITE:
		if (!was_written)
			say("written");
		was_written = true;
		return answer(in->unique, 0, &(struct fuse_write_out){ .size = written->size },
			      sizeof(struct fuse_write_out));
	case FUSE_STATFS: return answer(in->unique, 0, &(struct fuse_statfs_out){}, sizeof(struct fuse_statfs_out));
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR: return answer(in->unique, 0, NULL, 0);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: return;
	}
	answer(in->unique, ENOSYS, NULL, 0);
}

static bool wants_answer(const struct fuse_in_header *in)
{
	return in->opcode != FUSE_FORGET && in->opcode != FUSE_BATCH_FORGET && in->opcode != FUSE_INTERRUPT;
}

static int catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return CHECK(signalfd(-1, &set, SFD_CLOEXEC));
}

int main(int argc, char **argv)
{
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("program", program_path, "what the file `program` holds"),
					TEXT("mount", mount_path, "the directory it is mounted over")));
	struct pollfd fds[] = { { .events = POLLIN }, { .fd = catch_signals(), .events = POLLIN } };
	char *request = malloc(LARGEST_REQUEST), *data = malloc(LARGEST_REQUEST);
	struct signalfd_siginfo caught = {};
	bool dead = false;

	CHECK(prctl(PR_SET_PDEATHSIG, SIGTERM));
	signal(SIGPIPE, SIG_IGN); /* the parent may be gone: the mount must go too */
	program = CHECK(open(program_path, O_RDONLY));
	fuse_mount("dead_server", mount_path, "rootmode=40000,allow_other");
	/* The kernel's first request.  Who waits while that is unanswered can be killed. */
	CHECK(read(device, request, LARGEST_REQUEST));
	serve((void *)request, request + sizeof(struct fuse_in_header), data);
	CHECK(fcntl(device, F_SETFL, O_NONBLOCK)); /* a request can be taken back between poll and read */
	fds[0].fd = device;
	start_work(false);
	if (wait) {
		printf("{\"ready\": true, \"pid\": %d}\n", getpid());
		fflush(stdout);
	}
	while (caught.ssi_signo != SIGTERM) {
		CHECK(poll(fds, 2, -1));
		if (fds[1].revents) {
			CHECK(read(fds[1].fd, &caught, sizeof(caught)));
			dead = true;
			say("dead");
		} else if (read(device, request, LARGEST_REQUEST) < 0) {
			if (errno == ENODEV)
				break; /* unmounted */
		} else if (dead) {
			unanswered += wants_answer((void *)request);
		} else {
			answered++;
			serve((void *)request, request + sizeof(struct fuse_in_header), data);
		}
	}
	umount2(mount_path, MNT_DETACH);
	PRINT_TRUTH({ "answered", answered }, { "unanswered", unanswered });
	return 0;
}
