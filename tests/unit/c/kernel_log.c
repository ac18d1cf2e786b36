// SPDX-License-Identifier: GPL-2.0-only
/* Which records of /dev/kmsg are kept: each read of it gives one, as one of such a socket does. */
/* SOURCES: facts/host_files.c facts/mount_sources.c facts/mount_options.c facts/oom_log.c facts/log_text.c facts/cpuid.c facts/nfs_connections.c facts/listeners.c facts/traffic_control.c facts/link_settings.c facts/network_settings.c facts/boot_options.c facts/file_systems.c facts/user_tasks.c facts/hotspot.c base/hotspot_layout.c facts/hotspot_counters.c base/memory_symbols.c base/sock_diag.c base/netlink.c base/process_files.c base/namespaces.c base/passed_descriptors.c base/capabilities.c output/json.c output/output.c */
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

static void nothing_that_users_named(void)
{
	CHECK_TEXT(
		KEPT("3,1,9,-;overlayfs: failed to resolve '/home/secret/x': -2\n",
		     "3,2,9,-;overlayfs: failed to create directory /home/secret/work (errno: 28); mounting read-only\n",
		     "3,3,9,-;tmpfs: Unknown parameter 'error on dev vda, secret'\n",
		     "4,4,9,-;tmpfs: failed to find 'secret' in `it's secret' x\n DEVICE=b8:0\n",
		     "4,5,9,-;netlink: 4 bytes leftover after failing in process `secret'.\n",
		     "4,6,9,-;process 7 cannot do \"secret: it failed\n",
		     "2,7,9,-;EXT4-fs error (device sda1): f:3: inode #5: block 2: comm a: path /home/secret: bad\n",
		     "4,8,9,-;BTRFS warning (device sda): i/o error at 5 on dev /dev/mapper/a-b, root 5 (path: secret/a)\n",
		     "3,9,9,-;NFS: directory secret/a contains a readdir loop. The file: secret has duplicate cookie 7\n",
		     "4,10,9,-;cgroup: fork failed in /user.slice/secret\n", "3,11,9,-;error: /dev/shm/secret\n"),
		"4,4,9,-;tmpfs: failed to find '#' x DEVICE=b8:0\n"
		"4,5,9,-;netlink: 4 bytes leftover after failing in process `#'.\n"
		"2,7,9,-;EXT4-fs error (device sda1): f:3: inode #5: block 2: comm a: path #\n"
		"4,8,9,-;BTRFS warning (device sda): i/o error at 5 on dev /dev/mapper/a-b, root 5 (path: #\n"
		"4,10,9,-;cgroup: fork failed in #\n"
		"3,11,9,-;error: #\n");
}

static void nothing_of_what_the_kernel_cut(void)
{
	char record[1100], filler[951] = { 0 };

	memset(filler, 'x', sizeof(filler) - 1);
	snprintf(record, sizeof(record), "3,1,9,-;fuse: failed on '/home/it's secret %s\n", filler);
	CHECK_TEXT(KEPT(record), "3,1,9,-;fuse: failed on '#\n");
}

static void all_that_holds_no_name(void)
{
	static const char *const lines[] = {
		"3,1,9,-;I/O error, dev sda, sector 8 op 0x0:(READ) flags 0x0\n",
		"3,2,9,-;blk_update_request: I/O error, dev /dev/sdb, sector 8\n",
		"4,3,9,-;clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable\n",
		"3,4,9,-;usb 1-1: device descriptor read/64, error -71\n",
		"3,5,9,-;ata1: link is slow to respond, can't reset, doesn't wait\n",
		"4,6,9,-;oom_reaper: reaped process 7 (it 'is'), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB\n",
		"3,7,9,-;Memory cgroup out of memory: Killed process 7 (a 'b) total-vm:1kB\n",
		"6,8,9,-;Tasks in /a/'b are going to be killed due to memory.oom.group set\n",
	};
	char all[1000] = "";

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		strcat(all, lines[i]);
	CHECK_TEXT(kept(lines, sizeof(lines) / sizeof(*lines)), all);
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
	RUN(nothing_that_users_named);
	RUN(nothing_of_what_the_kernel_cut);
	RUN(all_that_holds_no_name);
	RUN(the_number_of_the_last_record_alone);
	return check_result();
}
