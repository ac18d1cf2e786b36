// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: facts/boot_options.c */
/* What is kept of the kernel's command line. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include "facts/internal.h"
#include "check.h"

static struct fact_text fact;

static const char *kept(const char *path, const char *text)
{
	fact.length = snprintf(fact.text, sizeof(fact.text), "%s", text);
	fact_cut_boot_options(path, &fact);
	fact.text[fact.length] = '\0';
	return fact.text;
}

static void options_that_cost_time_are_kept(void)
{
	CHECK_TEXT(kept("/proc/cmdline", "root=/dev/sda1 quiet idle=poll mitigations=auto,nosmt nosmt\n"),
		   "idle=poll\nmitigations=auto,nosmt\nnosmt\n");
	CHECK_TEXT(kept("/proc/cmdline", "\n"), "");
	CHECK_TEXT(kept("/proc/cmdline", ""), "");
}

static void everything_else_may_be_secret(void)
{
	CHECK_TEXT(kept("/proc/cmdline", "rd.luks.key=zqsecret systemd.setenv=PASSWORD=zqsecret idle=zq/secret\n"), "");
	CHECK_TEXT(kept("/proc/cmdline", "idle= idlezqsecret=1 mem=\"zqsecret\" idle=\x1b[2J\n"), "idle=\n");
	CHECK_TEXT(kept("/proc/cmdline",
			"mem=0123456789012345678901234567890123456789012345678901234567890123456789\n"),
		   "");
}

static void what_is_quoted_or_for_the_first_process_is_none(void)
{
	CHECK_TEXT(kept("/proc/cmdline", "key=\"abc mem=hunter2 nosmt\" nohz=off\n"), "nohz=off\n");
	CHECK_TEXT(kept("/proc/cmdline", "nohz=off -- mem=hunter2\n"), "nohz=off\n");
}

static void the_part_of_an_option_is_none(void)
{
	CHECK_TEXT(kept("/proc/cmdline", "nosmt mem=12"), "nosmt\n");
}

static void other_files_stay(void)
{
	CHECK_TEXT(kept("/proc/version", "Linux version 6.1\n"), "Linux version 6.1\n");
}

int main(void)
{
	RUN(options_that_cost_time_are_kept);
	RUN(everything_else_may_be_secret);
	RUN(what_is_quoted_or_for_the_first_process_is_none);
	RUN(the_part_of_an_option_is_none);
	RUN(other_files_stay);
	return check_result();
}
