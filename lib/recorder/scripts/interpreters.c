// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "scripts/interpreters.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "scripts/language.h"

#define FUNCTION_CHARACTERS 100

static const struct script_language *const languages[] = { &script_perl, &script_php, &script_python, &script_ruby,
							   &script_v8 };

static const struct script_language *language_of(const char *name)
{
	for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++)
		if (languages[i]->is_file(name))
			return languages[i];
	return NULL;
}

void script_files_add(struct script_files *files, const struct mapping *mapping)
{
	struct script_file *last = files->count ? &files->files[files->count - 1] : NULL;
	const char *slash = strrchr(mapping->path, '/');
	const struct script_language *language;

	if (!mapping->inode || !slash)
		return;
	if (last && last->inode == mapping->inode) {
		last->end = mapping->end;
		return;
	}
	language = mapping->offset || files->count == SCRIPT_FILES ? NULL : language_of(slash + 1);
	if (!language)
		return;
	last = &files->files[files->count++];
	*last = (struct script_file){ language, mapping->inode, mapping->start, mapping->end, "" };
	snprintf(last->name, sizeof(last->name), "%s", slash + 1);
}

int script_program_find(int process, const struct script_files *files, struct script_program *ret)
{
	_cleanup_close_ int memory = -1;
	int err = -ENOENT;

	*ret = (struct script_program){};
	if (!files->count)
		return err;
	memory = openat(process, "mem", O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		return -errno;
	for (size_t i = 0; err == -ENOENT && i < files->count; i++) {
		const struct script_file *file = &files->files[i];
		struct loaded_object object = { .memory = memory, .start = file->start, .end = file->end };

		*ret = (struct script_program){ .language = file->language };
		memcpy(ret->file, file->name, sizeof(ret->file));
		err = file->language->find(&object, file->name, ret);
	}
	if (err == -ENOEXEC)
		ret->interpreter.root = 0;
	else if (err)
		*ret = (struct script_program){};
	return err;
}

ssize_t script_function_name(int process, const struct script_program *program, uint64_t code,
			     char name[SCRIPT_NAME_BYTES])
{
	_cleanup_close_ int memory = openat(process, "mem", O_RDONLY | O_CLOEXEC);
	uint64_t address = SCRIPT_ADDRESS(code), stamp = 0;

	if (memory < 0 || !program->interpreter.root ||
	    !memory_read(memory, address + program->interpreter.stamp, &stamp, sizeof(stamp)))
		return -EFAULT;
	if (SCRIPT_CODE(address, stamp) != code)
		return -ESTALE;
	return (ssize_t)program->language->name_of(memory, program, address, name);
}

void script_text_clean(char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			*text = '?';
}

size_t script_name_write(char *name, const char *function, const char *path, uint32_t line)
{
	size_t room, length = strlen(path);
	char place[16] = "";

	if (line)
		snprintf(place, sizeof(place), ":%u", line);
	room = SCRIPT_NAME_BYTES - strnlen(function, FUNCTION_CHARACTERS) - strlen(place) - sizeof(" ()");
	return snprintf(name, SCRIPT_NAME_BYTES, "%.*s (%s%s)", FUNCTION_CHARACTERS, function,
			path + (length > room ? length - room : 0), place);
}
