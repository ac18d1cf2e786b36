// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: symbols/kernel_symbols.c */
/* WRAPS: fopen */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "symbols/symbols.h"
#include "check.h"

static const char *fake; /* what /proc/kallsyms says; NULL: the real one */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
	return fake ? fmemopen((void *)fake, strlen(fake), "r") : __real_fopen(path, mode);
}

static const char SYMBOLS[] = "ffffffff81000000 T _stext\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff81000100 t __pfx_vfs_read\n"
			      "ffffffff81000110 T vfs_read\n"
			      "ffffffff81000200 t vfs_read.cold\n"
			      "ffffffff81000300 t __mutex_lock.constprop.0\n"
			      "ffffffff81000400 T ___sys_call\n"
			      "ffffffff81000400 T _sys_call\n"
			      "ffffffff81000400 T __sys_call\n"
			      "ffffffff81000500 D jiffies\n"
			      "ffffffff81000600 t twice.isra.0\n"
			      "ffffffff81000700 t twice\n"
			      "ffffffff81000800 t lonely.part.0.cold\n"
			      "garbage\n"
			      "ffffffff81000900\n"
			      "ffffffff81000900 T\n"
			      "ffffffffc0000200 t ext4_write\t[ext4]\n"
			      "ffffffffc0000100 t ext4_read\t[ext4]\n"
			      "ffffffffc0000300 W ext4_last\t[ext4]";

static void finds_ranges(void)
{
	struct kernel_symbols *symbols;
	uint64_t start = 1, end = 1;

	fake = SYMBOLS;
	CHECK_NUMBER(kernel_symbols_load(&symbols), 0);
	CHECK_NUMBER(kernel_symbols_range(symbols, "vfs_read", &start, &end), 0);
	CHECK(start == 0xffffffff81000110 && end == 0xffffffff81000200);
	CHECK_NUMBER(kernel_symbols_range(symbols, "__mutex_lock", &start, &end), 0);
	CHECK(start == 0xffffffff81000300 && end == 0xffffffff81000400);
	CHECK_NUMBER(kernel_symbols_range(symbols, "twice", &start, &end), 0);
	CHECK(start == 0xffffffff81000700 && end == 0xffffffff81000800);
	CHECK_NUMBER(kernel_symbols_range(symbols, "ext4_read", &start, &end), 0);
	CHECK(start == 0xffffffffc0000100 && end == 0xffffffffc0000200);
	/* The last of all ends somewhere. */
	CHECK_NUMBER(kernel_symbols_range(symbols, "ext4_last", &start, &end), 0);
	CHECK(end == start + 1024 * 1024);
	CHECK_NUMBER(kernel_symbols_range(symbols, "lonely", &start, &end), -ENOENT);
	CHECK_NUMBER(kernel_symbols_range(symbols, "jiffies", &start, &end), -ENOENT);
	CHECK_NUMBER(kernel_symbols_range(symbols, "vfs_", &start, &end), -ENOENT);
	kernel_symbols_free(symbols);
}

static void finds_names(void)
{
	struct kernel_symbols *symbols;

	fake = SYMBOLS;
	CHECK_NUMBER(kernel_symbols_load(&symbols), 0);
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffff81000110), "vfs_read");
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffff810001ff), "vfs_read");
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffff81000200), "vfs_read.cold");
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffff81000302), "__mutex_lock");
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffff81000410), "_sys_call");
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffffc0000150), "ext4_read");
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffffc0000250), "ext4_write");
	CHECK_TEXT(kernel_symbols_name(symbols, 0x5), NULL);
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffffb0000000), NULL); /* between kernel and modules */
	CHECK_TEXT(kernel_symbols_name(symbols, UINT64_MAX), NULL);
	kernel_symbols_free(symbols);
	kernel_symbols_free(NULL);
}

/* Others' code lies around ours, and what was added ends where it is said to. */
static void finds_what_was_added(void)
{
	struct kernel_symbols *symbols;

	fake = SYMBOLS;
	CHECK_NUMBER(kernel_symbols_load(&symbols), 0);
	CHECK_NUMBER(kernel_symbols_add(symbols, 0xffffffffc0000400, 0x80, "perfdiag:second"), 0);
	CHECK_NUMBER(kernel_symbols_add(symbols, 0xffffffffc0000380, 0x80, "perfdiag:first"), 0);
	kernel_symbols_sort(symbols);
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffffc000037f), "ext4_last");
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffffc0000380), "perfdiag:first");
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffffc00003ff), "perfdiag:first");
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffffc0000400), "perfdiag:second");
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffffc000047f), "perfdiag:second");
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffffc0000480), NULL);
	/* The kernel's were read when one of ours was there already. */
	CHECK_NUMBER(kernel_symbols_add(symbols, 0xffffffffc0000300, 0x80, "perfdiag:third"), 0);
	kernel_symbols_sort(symbols);
	CHECK_TEXT(kernel_symbols_name(symbols, 0xffffffffc0000310), "perfdiag:third");
	kernel_symbols_free(symbols);
}

static void says_why_there_are_none(void)
{
	struct kernel_symbols *symbols = (void *)1;

	fake = "0000000000000000 T vfs_read\n0000000000000000 t vfs_write\n";
	CHECK_NUMBER(kernel_symbols_load(&symbols), -EPERM);
	CHECK(!symbols);
	fake = "ffffffff81000500 D jiffies\n";
	CHECK_NUMBER(kernel_symbols_load(&symbols), -ENOENT);
}

/* This kernel: either its addresses may be read, or that is the error. */
static void reads_this_kernel(void)
{
	struct kernel_symbols *symbols;
	uint64_t start, end;
	int err;

	fake = NULL;
	err = kernel_symbols_load(&symbols);
	if (geteuid() || err == -EPERM) {
		printf("addresses of this kernel are hidden: %s\n", strerror(-err));
		CHECK_NUMBER(err, -EPERM);
		return;
	}
	CHECK_NUMBER(err, 0);
	CHECK_NUMBER(kernel_symbols_range(symbols, "schedule", &start, &end), 0);
	CHECK(start > UINT64_MAX / 2 && end > start && end - start < 65536);
	CHECK_TEXT(kernel_symbols_name(symbols, start), "schedule");
	CHECK_TEXT(kernel_symbols_name(symbols, end - 1), "schedule");
	kernel_symbols_free(symbols);
}

int main(void)
{
	RUN(finds_ranges);
	RUN(finds_names);
	RUN(finds_what_was_added);
	RUN(says_why_there_are_none);
	RUN(reads_this_kernel);
	return check_result();
}
