// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "apps/exports.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/helper.h"
#include "base/monotonic.h"
#include "base/passed_descriptors.h"
#include "base/privileges.h"
#include "base/process_files.h"
#include "base/receive.h"
#include "symbols/symbols_child.h"

#define SYMBOLS_MAX (1 << 20) /* PostgreSQL exports 11,000 */
#define FUNCTION_BYTES_MIN 64

struct question {
	pid_t pid;
	const struct exports_wanted *wanted;
	unsigned int deadline_ms;
};

/* The very file that a process runs, also where it has been replaced, or lies in another mount namespace. */
static int open_program(pid_t pid)
{
	_cleanup_close_ int path_fd = -1, process = process_open(pid);

	path_fd = process < 0 ? -1 : openat(process, "exe", O_PATH | O_CLOEXEC);
	return path_fd < 0 ? -errno : reopen_regular(path_fd, 0, 0);
}

static void find_first_code(Elf *elf, struct exports *exports)
{
	size_t segments = 0;
	GElf_Phdr segment;

	exports->first_code = UINT64_MAX;
	elf_getphdrnum(elf, &segments);
	for (size_t i = 0; i < segments; i++)
		if (gelf_getphdr(elf, i, &segment) && segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
		    segment.p_vaddr < exports->first_code)
			exports->first_code = segment.p_vaddr;
}

/* Where in the file the first instruction of a function stands; 0: in no segment that is run. */
static uint64_t offset_of_code(Elf *elf, uint64_t address)
{
	size_t segments = 0;
	GElf_Phdr segment;

	elf_getphdrnum(elf, &segments);
	for (size_t i = 0; i < segments; i++)
		if (gelf_getphdr(elf, i, &segment) && segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
		    address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
			return address - segment.p_vaddr + segment.p_offset;
	return 0;
}

static void find_function(Elf *elf, const char *name, const GElf_Sym *symbol, const struct exports_wanted *wanted,
			  struct exports *exports)
{
	for (int place = 0; name && place < FUNCTIONS_MAX && wanted->functions[place]; place++)
		if (!strcmp(name, wanted->functions[place]) && symbol->st_size >= FUNCTION_BYTES_MIN)
			exports->offsets[place] = offset_of_code(elf, symbol->st_value);
	for (int mark = 0; name && mark < MARKS_MAX && wanted->marks[mark]; mark++)
		if (!strcmp(name, wanted->marks[mark]) && symbol->st_size && offset_of_code(elf, symbol->st_value))
			exports->marks |= 1U << mark;
}

static void find_names(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const struct exports_wanted *wanted,
		       struct exports *exports)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && i < SYMBOLS_MAX && gelf_getsym(data, i, &symbol); i++) {
		const char *name;

		if (symbol.st_shndx == SHN_UNDEF)
			continue;
		if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
			find_function(elf, elf_strptr(elf, header->sh_link, symbol.st_name), &symbol, wanted, exports);
		if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		for (int place = 0; name && place < EXPORTS_MAX && wanted->names[place]; place++)
			if (!strcmp(name, wanted->names[place]))
				exports->addresses[place] = symbol.st_value;
	}
}

/* The first place where a digit follows the prefix, and the suffix what follows that. */
static void find_version(const char *text, size_t length, const struct exports_wanted *wanted,
			 char version[VERSION_BYTES])
{
	const char *end = text + length, *at = text, *suffix = wanted->version_suffix ?: "";
	size_t digits, prefix_bytes = wanted->version_prefix ? strlen(wanted->version_prefix) : 1; /* the NUL before */

	while ((at = memmem(at, end - at, wanted->version_prefix ?: "", prefix_bytes))) {
		at += prefix_bytes;
		for (digits = 0; at + digits < end && (isalnum((unsigned char)at[digits]) || at[digits] == '.');)
			digits++;
		if (!digits || !isdigit((unsigned char)*at) || (size_t)(end - at) - digits < strlen(suffix) ||
		    memcmp(at + digits, suffix, strlen(suffix)))
			continue;
		memcpy(version, at, digits < VERSION_BYTES ? digits : VERSION_BYTES - 1);
		return;
	}
}

/* How a function begins that keeps registers or a place on the stack, as any long one does. */
static bool begins_function(const unsigned char *code)
{
#if defined(__x86_64__)
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return (code[0] & 0xf8) == 0x50 || (code[0] == 0x41 && (code[1] & 0xf8) == 0x50) ||    /* push */
	       (code[0] == 0x48 && (code[1] == 0x83 || code[1] == 0x81) && code[2] == 0xec) || /* sub $n, %rsp */
	       !memcmp(code, endbr64, sizeof(endbr64));
#else
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return (word & 0xffc003ff) == 0xa98003fd || (word & 0xff8003e0) == 0xa98003e0 || /* stp …, [sp, -n]! */
	       (word & 0xff8003ff) == 0xd10003ff ||					 /* sub sp, sp, n */
	       word == 0xd503233f || (word & 0xffffff3f) == 0xd503241f;			 /* paciasp, bti */
#endif
}

/*
 * A probe is set in a page of the file, and the kernel waits for it without end where the file system does not answer:
 * it is read here first, where a deadline holds.  In the middle of an instruction, or in data, it would change what the
 * program computes.  Not from a mapping: the kernel sets probes there, too, those of another perfdiag for one.
 */
static void check_functions(int fd, struct exports *exports)
{
	unsigned char code[FUNCTION_BYTES_MIN];

	for (int place = 0; place < FUNCTIONS_MAX; place++)
		if (pread(fd, code, sizeof(code), exports->offsets[place]) != sizeof(code) || !begins_function(code))
			exports->offsets[place] = 0;
	if (exports->offsets[0] == exports->offsets[1])
		exports->offsets[1] = 0;
}

static void read_program(int fd, const struct exports_wanted *wanted, struct exports *exports)
{
	Elf_Scn *section = NULL;
	size_t names;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names))
		_exit(1);
	find_first_code(elf, exports);
	while ((section = elf_nextscn(elf, section))) {
		const char *name;
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (header.sh_type == SHT_DYNSYM) {
			find_names(elf, section, &header, wanted, exports);
		} else if (name && !strcmp(name, ".rodata") && header.sh_type == SHT_PROGBITS) {
			data = elf_rawdata(section, NULL);
			if (data && data->d_buf)
				find_version(data->d_buf, data->d_size, wanted, exports->version);
		}
	}
	check_functions(fd, exports);
	elf_end(elf);
}

static void look_up(const void *argument, int results_fd)
{
	const struct question *question = argument;
	struct exports exports = {};
	int fd = open_program(question->pid);

	if (fd < 0 || send_with_descriptors(results_fd, "", 1, &fd, 1)) /* before anything hostile is read */
		return;
	symbols_confine(results_fd, question->deadline_ms);
	read_program(fd, question->wanted, &exports);
	if (write(results_fd, &exports, sizeof(exports)) != sizeof(exports))
		_exit(1);
}

/* Whether it may be what it should: who answers has read what others wrote. */
static int check(struct exports *exports)
{
	exports->version[VERSION_BYTES - 1] = '\0';
	for (char *at = exports->version; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '.')
			return -ENODATA;
	return 0;
}

static int receive_answer(int fd, struct exports *ret, int *ret_fd, int64_t deadline)
{
	int err = wait_readable_by(fd, deadline);
	ssize_t length;
	char byte;

	if (err)
		return err;
	length = receive_with_descriptors(fd, &byte, 1, ret_fd, 1);
	if (length < 0)
		return (int)length;
	return *ret_fd < 0 ? -ENODATA : receive_by(fd, ret, sizeof(*ret), deadline);
}

bool exports_has_marks(const struct exports_wanted *wanted, const struct exports *exports)
{
	for (int mark = 0; mark < MARKS_MAX && wanted->marks[mark]; mark++)
		if (!(exports->marks & 1U << mark))
			return false;
	return true;
}

int exports_find(pid_t pid, const struct exports_wanted *wanted, struct exports *ret, int *ret_fd,
		 unsigned int deadline_ms)
{
	static const struct helper_task task = { "perfdiag-symbol", OF_SYMBOLS, look_up };
	struct question question = { pid, wanted, deadline_ms };
	int64_t deadline = monotonic_ms() + deadline_ms;
	struct helper helper;
	int err;

	*ret_fd = -1;
	err = helper_start(&helper, &task, &question);
	if (err)
		return err;
	err = receive_answer(helper.fd, ret, ret_fd, deadline);
	helper_end(&helper);
	return err ? err : check(ret);
}
