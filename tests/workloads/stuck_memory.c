/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stuck_memory - a process whose memory lock is held for ever once the server of a shared file mapping is dead: one
 * thread writes the page back (msync), one changes it again and waits for that in its page fault, one changes the
 * mapping and waits for the fault, with the lock.  Whoever reads cmdline or maps of this process then waits too.  One
 * starts programs all the time, until the child it starts waits for the lock in its exec: reading io of that waits too.
 */
#include "workload.h"
#include <sys/prctl.h>

static volatile char *page;

static void *write_back(void *unused)
{
	(void)unused;
	for (;;) {
		page[1]++;
		msync((void *)page, 4096, MS_SYNC);
	}
	return NULL;
}

static void *change(void *unused)
{
	(void)unused;
	for (;; sleep_ns(MILLISECOND))
		page[2]++;
	return NULL;
}

static void *remap(void *unused)
{
	(void)unused;
	for (int round = 0;; round++, sleep_ns(10 * MILLISECOND))
		madvise((void *)page, 4096, round % 2 ? MADV_RANDOM : MADV_NORMAL);
	return NULL;
}

static void *start_programs(void *unused)
{
	(void)unused;
	for (;; sleep_ns(10 * MILLISECOND)) {
		pid_t child = vfork();

		if (!child) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		waitpid(child, NULL, 0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *path = "remote/data";
	bool wait = parse_options(argc, argv, KNOBS(TEXT("file", path, "the file whose last page is mapped")));
	void *(*const threads[])(void *) = { write_back, change, remap, start_programs };
	int fd = CHECK(open(path, O_RDWR));

	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL)); /* never without the test that started it */
	page = CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, CHECK(lseek(fd, -4096, SEEK_END))));
	CHECK(close(fd)); /* or a child would write back at its exit, and wait there */
	page[0]++;
	start_work(wait);
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
		start_thread(threads[i], NULL);
	for (;; sleep_ns(5 * MILLISECOND)) /* and something is left to be sampled and named */
		spin_until(now_ns() + 5 * MILLISECOND);
}
