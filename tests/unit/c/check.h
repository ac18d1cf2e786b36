/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The smallest harness: a failed check is printed and counted, the case goes on.  main() lists the cases with RUN()
 * and returns check_result().  A test's first lines say what it is linked with: SOURCES, LIBS, WRAPS (functions that
 * the test replaces by one of its own, __wrap_NAME).
 */
#pragma once
#include <stdio.h>
#include <string.h>

static int check_failures, check_count;

#define PATIENCE_MS 5000 /* more than a busy host needs; what hangs in a test hangs for ever */

#define CHECK(condition) check_that(condition, #condition, __FILE__, __LINE__)
#define CHECK_NUMBER(is, should) check_number(is, should, #is, __FILE__, __LINE__)
#define CHECK_TEXT(is, should) check_text(is, should, #is, __FILE__, __LINE__)
#define RUN(test) (printf("%s\n", #test), test())

static inline void check_that(int holds, const char *condition, const char *file, int line)
{
	check_count++;
	if (holds)
		return;
	check_failures++;
	printf("%s:%d: does not hold: %s\n", file, line, condition);
}

static inline void check_number(long is, long should, const char *what, const char *file, int line)
{
	check_count++;
	if (is == should)
		return;
	check_failures++;
	printf("%s:%d: %s is %ld, should be %ld\n", file, line, what, is, should);
}

static inline void check_text(const char *is, const char *should, const char *what, const char *file, int line)
{
	check_count++;
	if (is == should || (is && should && !strcmp(is, should)))
		return;
	check_failures++;
	printf("%s:%d: %s is\n  %s, should be\n  %s\n", file, line, what, is ? is : "NULL", should ? should : "NULL");
}

static inline int check_result(void)
{
	printf("%d checks, %d failed\n", check_count, check_failures);
	return check_failures || !check_count;
}
