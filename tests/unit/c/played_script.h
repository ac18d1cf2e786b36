/* SPDX-License-Identifier: GPL-2.0-only */
/* This program plays an interpreter, whose functions are named out of its memory. */
#pragma once
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "scripts/language.h"
#include "check.h"

static uint64_t function[64];

static struct script_program found(const struct script_language *language, const char *name)
{
	uint64_t start = (getauxval(AT_PHDR) | 0xfff) - 0xfff;
	struct loaded_object object = { .memory = open("/proc/self/mem", O_RDONLY),
					.start = start,
					.end = start + (1 << 20) };
	struct script_program program = { .language = language };

	CHECK_NUMBER(language->find(&object, name, &program), 0);
	close(object.memory);
	return program;
}

static ssize_t name_of(const struct script_program *program, char name[SCRIPT_NAME_BYTES + 1])
{
	_cleanup_close_ int process = open("/proc/self", O_PATH | O_DIRECTORY);
	uint64_t stamp = *(uint64_t *)((char *)function + program->interpreter.stamp);
	ssize_t length = script_function_name(process, program, SCRIPT_CODE((uint64_t)function, stamp), name);

	CHECK(length < SCRIPT_NAME_BYTES);
	name[length > 0 ? length : 0] = '\0';
	return length;
}
