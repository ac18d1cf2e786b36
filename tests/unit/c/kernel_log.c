// SPDX-License-Identifier: GPL-2.0-only
/* Which records of /dev/kmsg are kept: each read of it gives one, as one of such a socket does. */
/* SOURCES: facts/mount_sources.c facts/mount_options.c facts/oom_log.c facts/cpuid.c facts/nfs_connections.c facts/listeners.c facts/hotspot.c facts/hotspot_symbols.c facts/hotspot_counters.c base/sock_diag.c base/process_files.c base/namespaces.c base/passed_descriptors.c base/capabilities.c output/json.c output/output.c */
#include "../../../lib/recorder/facts/read.c"
#include <sys/socket.h>
#include "check.h"

static struct fact_text fact;

static const char *kept(const char *const *records, size_t count)
{
	int fds[2];

	CHECK_NUMBER(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds), 0);
	for (size_t i = 0; i < count; i++)
		CHECK_NUMBER(write(fds[0], records[i], strlen(records[i])), (long)strlen(records[i]));
	fact = (struct fact_text){};
	read_log(fds[1], FACTS_TEXT_MAX, &fact);
	close(fds[0]);
	close(fds[1]);
	fact.text[fact.length] = 0;
	return fact.text;
}

#define KEPT(...) kept((const char *const[]){ __VA_ARGS__ }, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *))

static void what_the_kernel_says_of_trouble(void)
{
	CHECK_TEXT(KEPT("3,7,100,-;I/O error, dev sda\n SUBSYSTEM=block\n DEVICE=b8:0\n",
			"6,8,101,-;link becomes ready\n", "4,9,102,-;nfs: server not responding\n"),
		   "3,7,100,-;I/O error, dev sda DEVICE=b8:0\n4,9,102,-;nfs: server not responding\n");
}

static void nothing_that_others_say(void)
{
	CHECK_TEXT(KEPT("12,7,100,-;error: password is secret\n", "30,8,101,-;failed: token secret\n",
			"3,9,102,-;I/O error, dev sda\n"),
		   "3,9,102,-;I/O error, dev sda\n");
	CHECK_TEXT(KEPT("4,7,100,-;a invoked oom-killer: gfp_mask=0x0\n", "12,8,101,-;anon secret\n",
			"3,9,102,-;Out of memory: Killed process 7 (a)\n"),
		   "4,7,100,-;a invoked oom-killer: gfp_mask=0x0\n3,9,102,-;Out of memory: Killed process 7 (a)\n");
}

static void nothing_that_anybody_can_have_logged(void)
{
	CHECK_TEXT(KEPT("5,6,99,-;audit: type=1326 comm=\"a\" exe=\"/home/secret/abort/dev[vda]\" sig=31\n",
			"5,7,99,-;audit: type=1309 a0=\"curl\" a1=\"--timeout\" a2=\"secret\"\n",
			"6,8,99,-;abort dev vda,[16973]: segfault at 0 ip 0 error 4\n",
			"6,9,99,-;traps: abort[7] general protection fault error:0\n",
			"5,10,99,-;Unknown kernel command line parameters \"x_timeout=secret\"\n",
			"3,11,102,-;I/O error, dev sda\n"),
		   "3,11,102,-;I/O error, dev sda\n");
}

static void the_number_of_the_last_record_alone(void)
{
	CHECK_TEXT(KEPT("3,7,100,-;I/O error, dev sda\n", "12,8,101,-;error: secret\n"),
		   "3,7,100,-;I/O error, dev sda\n12,8,101,-;\n");
	CHECK_TEXT(KEPT("6,8,101,-;Command line: secret=1\n DEVICE=+x:secret\n"), "6,8,101,-;\n");
}

int main(void)
{
	RUN(what_the_kernel_says_of_trouble);
	RUN(nothing_that_others_say);
	RUN(nothing_that_anybody_can_have_logged);
	RUN(the_number_of_the_last_record_alone);
	return check_result();
}
