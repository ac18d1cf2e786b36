// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: facts/mount_sources.c */
/* What is left of the sources of mounts. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include "facts/internal.h"
#include "check.h"

static struct fact_text fact;

static const char *cut(const char *path, const char *text, bool truncated)
{
	fact.truncated = truncated;
	fact.length = snprintf(fact.text, sizeof(fact.text), "%s", text);
	fact_cut_mount_sources(path, &fact);
	fact.text[fact.length] = '\0';
	return fact.text;
}

static const char *source(const char *written)
{
	static char line[512];

	snprintf(line, sizeof(line), "1 0 0:1 / /a rw shared:1 - fuse %s rw\n2 0 8:1 / / rw - ext4 /dev/sda1 rw\n",
		 written);
	return cut("/proc/1/mountinfo", line, false);
}

#define LEFT(written, left)                                                                                            \
	CHECK_TEXT(source(written), "1 0 0:1 / /a rw shared:1 - fuse " left " rw\n2 0 8:1 / / rw - ext4 /dev/sda1 rw\n")

static void secrets_are_cut(void)
{
	LEFT("https://bob:zqsecret@dav.example/share?token=zqsecret", "https://dav.example/share");
	LEFT("https://bob:zq/sec@ret@dav.example/share", "https://dav.example/share");
	LEFT("sftp://zqsecret@host/", "sftp://host/");
	LEFT("https://host/share\\043zqsecret", "https://host/share");
	LEFT("https://host?zqsecret@x", "https://host");
	LEFT("bob:zqsecret@host:/share", "host:/share");
}

static void others_are_left(void)
{
	LEFT("10.0.0.1:/export", "10.0.0.1:/export");
	LEFT("//server/share", "//server/share");
	LEFT("pool/data@snapshot", "pool/data@snapshot");
	LEFT("/dev/mapper/a?b", "/dev/mapper/a?b");
	LEFT("none", "none");
	CHECK_TEXT(cut("/proc/1/status", "1 - fuse https://a:b@c x\n", false), "1 - fuse https://a:b@c x\n");
}

static void mountstats_too(void)
{
	const char *text = "device https://bob:zqsecret@host/a?zqsecret mounted on /a with fstype fuse\n\tage:\t5\n";

	CHECK_TEXT(cut("/proc/self/mountstats", text, false),
		   "device https://host/a mounted on /a with fstype fuse\n\tage:\t5\n");
}

static void a_part_of_a_line_is_not_kept(void)
{
	CHECK_TEXT(cut("/proc/1/mountinfo", "1 0 0:1 / / rw - a b c\n1 0 0:1 / /a rw - fuse https://bob:zqse", true),
		   "1 0 0:1 / / rw - a b c\n");
	CHECK_TEXT(cut("/proc/1/mountinfo", "", true), "");
}

int main(void)
{
	RUN(secrets_are_cut);
	RUN(others_are_left);
	RUN(mountstats_too);
	RUN(a_part_of_a_line_is_not_kept);
	return check_result();
}
