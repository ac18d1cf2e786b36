// SPDX-License-Identifier: GPL-2.0-only
#include "symbols/unnamed_addresses.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const reasons[LACKS] = {
	[LACK_NOT_OPENED] = "not opened",
	[LACK_NO_ELF] = "no ELF file",
	[LACK_DAMAGED] = "damaged",
	[LACK_TOO_LARGE] = "too large",
	[LACK_LATE] = "timeout",
	[LACK_ENDED] = "reader ended",
	[LACK_NOT_STARTED] = "not started",
	[LACK_MAP_REFUSED] = "perf map refused",
};

/* The module of "0x1234 (module)". */
static void file_of(const struct user_address *address, char file[UNNAMED_FILE_BYTES])
{
	const char *module = address->name ? strchr(address->name, '(') : NULL;

	if (module)
		snprintf(file, UNNAMED_FILE_BYTES, "%.*s", (int)strlen(module) - 2, module + 1);
	else
		snprintf(file, UNNAMED_FILE_BYTES, "%s", user_symbols_broke_in());
}

static struct unnamed_file *find(struct unnamed *unnamed, const char *file, enum symbol_lack lack)
{
	for (size_t i = 0; i < unnamed->count; i++)
		if (unnamed->files[i].lack == lack && !strcmp(unnamed->files[i].file, file))
			return &unnamed->files[i];
	return NULL;
}

void unnamed_add(struct unnamed *unnamed, const struct user_address *address)
{
	char file[UNNAMED_FILE_BYTES] = "";
	struct unnamed_file *found;

	file_of(address, file);
	found = find(unnamed, file, address->lack);
	if (!found && unnamed->count >= UNNAMED_FILES) {
		file[0] = '\0';
		found = find(unnamed, file, address->lack);
	}
	if (!found) {
		found = &unnamed->files[unnamed->count++];
		found->lack = address->lack;
		memcpy(found->file, file, sizeof(file));
	}
	found->addresses++;
}

void unnamed_write(const struct unnamed *unnamed, struct json *json, struct output *output)
{
	for (size_t i = 0; i < unnamed->count; i++) {
		const struct unnamed_file *line = &unnamed->files[i];

		json_open(json, "unnamed");
		json_text(json, "file", line->file);
		json_text(json, "reason", reasons[line->lack]);
		json_u64(json, "addresses", line->addresses);
		json_write(json, output);
	}
}
