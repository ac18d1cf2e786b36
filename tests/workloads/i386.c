/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * i386 - sleeps and reads through the 32-bit system call table, whose numbers mean other calls in the 64-bit one:
 * 162 is nanosleep here and sync there, 3 is read here and close there.  `int $0x80` needs no 32-bit compiler.
 */
#include "workload.h"
#include <sys/prctl.h>

#ifdef __x86_64__
static long call_i386(long number, long first, long second, long third)
{
	long result;

	asm volatile("int $0x80"
		     : "=a"(result)
		     : "a"(number), "b"(first), "c"(second), "d"(third)
		     : "memory", "cc", "r8", "r9", "r10", "r11");
	return result;
}

int main(int argc, char **argv)
{
	enum { READ_I386 = 3, NANOSLEEP_I386 = 162 };
	long count = 11, wait_ms = 30;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("count", count, "waits of each kind"),
					NUMBER("wait-ms", wait_ms, "their length")));
	/* Addresses have to fit in 32 bits. */
	int32_t *low = CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
	uint64_t sleep_total_ns = 0, read_ns = 0;
	int request[2], answer[2];

	CHECK(pipe(request));
	CHECK(pipe(answer));
	if (CHECK(fork()) == 0) {
		char byte;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(request[0], &byte, 1) == 1) {
			sleep_ns(wait_ms * MILLISECOND);
			if (write(answer[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	start_work(wait);
	for (long i = 0; i < count; i++) {
		uint64_t begin = now_ns(), middle;

		low[0] = 0;
		low[1] = wait_ms * MILLISECOND;
		errno = -call_i386(NANOSLEEP_I386, (long)low, 0, 0);
		if (errno)
			die("nanosleep through int 0x80");
		middle = now_ns();
		sleep_total_ns += middle - begin;
		if (write(request[1], "x", 1) != 1)
			die("write");
		if (call_i386(READ_I386, answer[0], (long)low, 1) != 1)
			die("read through int 0x80");
		read_ns += now_ns() - middle;
	}
	PRINT_TRUTH({ "count", count }, { "sleep_ns", sleep_total_ns }, { "read_ns", read_ns });
	return 0;
}
#else
int main(void)
{
	fputs("i386: this machine has no 32-bit x86 system calls\n", stderr);
	return 77;
}
#endif
