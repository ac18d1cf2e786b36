// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: facts/oom_log.c */
/* Which lines of a report of the OOM killer are kept. */
#include <string.h>
#include "facts/internal.h"
#include "check.h"

static unsigned int lines;

static bool kept(const char *record)
{
	return log_line_of_oom_report(record, &lines);
}

static void nothing_before_a_report(void)
{
	lines = 0;
	CHECK(!kept("6,1,5,-;Mem-Info:"));
	CHECK(!kept("6,1,5,-;CPU: 1 PID: 156 Comm: devour Not tainted 6.1.0"));
	CHECK(!kept("6,1,5,-;[    123]     0   123    16984  99999   110592        0             0 mysqld"));
}

static void a_report_of_the_host(void)
{
	lines = 0;
	CHECK(kept("4,2,6,-;devour invoked oom-killer: gfp_mask=0x140cca(GFP_KERNEL), order=0, oom_score_adj=0"));
	CHECK(kept("4,3,6,-;CPU: 1 PID: 156 Comm: devour Not tainted 6.1.0"));
	CHECK(!kept("4,4,6,-; dump_stack_lvl+0x44/0x5c"));
	CHECK(!kept("4,5,6,-;RIP: 0033:0x560dc568b6b0"));
	CHECK(!kept("6,6,6,-;eth0: link becomes ready"));
	CHECK(kept("4,7,6,-;active_anon:50 inactive_anon:477327 isolated_anon:0\\x0a active_file:11"));
	CHECK(kept("4,8,6,-;Node 0 DMA32 free:44708kB boost:0kB min:44708kB"));
	CHECK(!kept("4,9,6,-;Node 0 hugepages_total=0 hugepages_free=0"));
	CHECK(kept("4,9,6,-;460853 total pagecache pages"));
	CHECK(kept("6,9,6,-;[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name"));
	CHECK(kept("6,9,6,-;[    123]     0   123    16984     8477   110592        0             0 devour"));
	CHECK(!kept("6,9,6,-;[    124]     0   124    16984     1023   110592        0             0 sh"));
	CHECK(kept("6,9,6,-;[    125]     0   125    16984       10   110592     9000             0 swapped"));
	CHECK(kept("6,9,6,-;[   306]     0   306  16984 16437  16407  30   0   172032        0      300 devour"));
	CHECK(!kept("6,9,6,-;[   307]     0   307  16984    37      7  30   0   172032        0      300 sh"));
	CHECK(kept("6,9,6,-;[    x"));
	CHECK(kept("6,9,6,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null)"));
	CHECK(kept("3,9,6,-;Out of memory: Killed process 261 (devour) total-vm:67936kB"));
	CHECK_NUMBER(lines, 0);
	CHECK(!kept("6,9,6,-;Mem-Info:"));
}

static void a_report_of_a_control_group(void)
{
	lines = 0;
	CHECK(kept("4,2,6,-;devour invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"));
	CHECK(kept("6,3,6,-;memory: usage 32768kB, limit 32768kB, failcnt 22"));
	CHECK(kept("6,4,6,-;Memory cgroup stats for /tight:"));
	CHECK(kept("6,5,6,-;anon 33427456"));
	CHECK(kept("6,6,6,-;file 0"));
	CHECK(kept("6,7,6,-;shmem 31457280"));
	CHECK(!kept("6,8,6,-;workingset_refault_anon 0"));
	CHECK(kept("3,9,6,-;Memory cgroup out of memory: Killed process 156 (devour) total-vm:67936kB"));
}

static void a_report_without_end(void)
{
	lines = 0;
	CHECK(kept("4,2,6,-;x invoked oom-killer: gfp_mask=0x0, order=0, oom_score_adj=0"));
	for (int i = 0; i < 100000; i++)
		kept("6,6,6,-;eth0: link becomes ready");
	CHECK(!kept("6,9,6,-;Mem-Info:"));
}

int main(void)
{
	nothing_before_a_report();
	a_report_of_the_host();
	a_report_of_a_control_group();
	a_report_without_end();
	return check_result();
}
