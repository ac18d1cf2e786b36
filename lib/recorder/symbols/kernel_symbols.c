// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "symbols/symbol_name.h"
#include "symbols/symbols.h"

/* A function is shorter.  Behind the last function of the kernel or of a module there is nothing for a long way. */
#define LONGEST_FUNCTION_BYTES (1024 * 1024)
#define STEP_SYMBOLS (16 * 1024) /* small steps: the recorder's memory may be locked, unused room would count */
#define STEP_NAMES (256 * 1024)

/* There may be 150,000 of them, hence packed. */
struct symbol {
	uint64_t address;
	uint32_t name : 31;	/* offset in names */
	uint32_t shortened : 1; /* one of the compiler's variants of the function */
} __attribute__((packed));

struct kernel_symbols {
	struct symbol *symbols;
	size_t count, capacity;
	char *names;
	size_t names_length, names_capacity;
	size_t added_names; /* where those begin that were added after loading; 0: none */
	bool unsorted;
};

static int make_room(void **data, size_t *capacity, size_t needed, size_t step, size_t size)
{
	void *larger;

	if (needed <= *capacity)
		return 0;
	larger = realloc(*data, (needed + step) * size);
	if (!larger)
		return -ENOMEM;
	*data = larger;
	*capacity = needed + step;
	return 0;
}

static int add(struct kernel_symbols *all, uint64_t address, const char *name)
{
	size_t length = symbol_name_length(name);

	if (make_room((void **)&all->symbols, &all->capacity, all->count + 1, STEP_SYMBOLS, sizeof(*all->symbols)) ||
	    make_room((void **)&all->names, &all->names_capacity, all->names_length + length + 1, STEP_NAMES, 1))
		return -ENOMEM;
	if (all->count && address < all->symbols[all->count - 1].address)
		all->unsorted = true;
	all->symbols[all->count++] = (struct symbol){
		.address = address,
		.name = all->names_length,
		.shortened = name[length] != '\0',
	};
	memcpy(all->names + all->names_length, name, length);
	all->names_length += length;
	all->names[all->names_length++] = '\0';
	return 0;
}

/* The padding in front of functions has symbols too (call padding, CFI): half of all names, and never executed. */
static bool is_padding(const char *name)
{
	return !strncmp(name, "__pfx_", 6) || !strncmp(name, "__cfi_", 6);
}

/* "ffffffff81000010 T name\t[module]\n".  Upper case is global, W is a weak function; data is of no use here. */
static int add_line(struct kernel_symbols *all, char *line)
{
	char *end, *name;
	uint64_t address = strtoull(line, &end, 16);
	char type;

	if (end == line || *end != ' ')
		return 0;
	type = end[1];
	if (!type || !strchr("tTwW", type) || end[2] != ' ')
		return 0;
	name = end + 3;
	name[strcspn(name, " \t\n")] = '\0';
	return *name && !is_padding(name) ? add(all, address, name) : 0;
}

static int compare(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

int kernel_symbols_add(struct kernel_symbols *symbols, uint64_t address, uint64_t bytes, const char *name)
{
	if (!symbols->added_names)
		symbols->added_names = symbols->names_length;
	return add(symbols, address, name) ?: add(symbols, address + bytes, "");
}

/* Sorting takes memory; without modules they come in order. */
void kernel_symbols_sort(struct kernel_symbols *symbols)
{
	if (symbols->unsorted)
		qsort(symbols->symbols, symbols->count, sizeof(*symbols->symbols), compare);
	symbols->unsorted = false;
}

int kernel_symbols_load(struct kernel_symbols **ret)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	_cleanup_free_ char *line = NULL;
	struct kernel_symbols *all;
	size_t capacity = 0;
	int err = 0;

	*ret = NULL;
	if (!file)
		return -errno;
	all = calloc(1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	setvbuf(file, NULL, _IOFBF, 1 << 16); /* by default 1,024 bytes a read, of 6 MB */
	while (!err && getline(&line, &capacity, file) >= 0)
		err = add_line(all, line);
	if (!err && ferror(file))
		err = -EIO;
	if (!err && !all->count)
		err = -ENOENT;
	if (err)
		goto failed;
	kernel_symbols_sort(all);
	/* Without the right to see addresses (kptr_restrict, CAP_SYSLOG) every one of them reads as 0. */
	err = all->symbols[all->count - 1].address ? 0 : -EPERM;
	if (err)
		goto failed;
	*ret = all;
	return 0;
failed:
	kernel_symbols_free(all);
	return err;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->symbols);
	free(symbols->names);
	free(symbols);
}

/* Index of the first symbol beyond address. */
static size_t first_beyond(const struct kernel_symbols *all, uint64_t address)
{
	size_t low = 0, high = all->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t end_of(const struct kernel_symbols *all, uint64_t start)
{
	size_t next = first_beyond(all, start);
	uint64_t limit = start + LONGEST_FUNCTION_BYTES;

	return next < all->count && all->symbols[next].address < limit ? all->symbols[next].address : limit;
}

int kernel_symbols_range(const struct kernel_symbols *symbols, const char *name, uint64_t *start, uint64_t *end)
{
	const struct symbol *found = NULL;

	for (size_t i = 0; i < symbols->count; i++) {
		const struct symbol *symbol = &symbols->symbols[i];

		if (strcmp(symbols->names + symbol->name, name))
			continue;
		if (!found || (found->shortened && !symbol->shortened))
			found = symbol;
		if (!found->shortened)
			break;
	}
	if (!found || !found->address)
		return -ENOENT;
	*start = found->address;
	*end = end_of(symbols, found->address);
	return 0;
}

const char *kernel_symbols_name(const struct kernel_symbols *symbols, uint64_t address)
{
	size_t beyond = first_beyond(symbols, address);
	const char *best = NULL;
	uint64_t start;

	if (!beyond)
		return NULL;
	start = symbols->symbols[beyond - 1].address;
	if (!start || address >= end_of(symbols, start))
		return NULL;
	for (size_t i = beyond; i && symbols->symbols[i - 1].address == start; i--) {
		const char *name = symbols->names + symbols->symbols[i - 1].name;

		/* What was added is known better: some of ours may have been loaded already when the kernel's were read. */
		if (*name && symbols->added_names && symbols->symbols[i - 1].name >= symbols->added_names)
			return name;
		if (*name && (!best || symbol_name_underscores(name) <= symbol_name_underscores(best)))
			best = name;
	}
	return best; /* NULL: behind the end of one that was added */
}
