// SPDX-License-Identifier: GPL-2.0-only
/* Counters of a virtual machine that this program plays: its exported variables, its PerfMemory, and lies of both. */
/* SOURCES: facts/hotspot.c base/hotspot_layout.c facts/hotspot_counters.c base/memory_symbols.c base/process_files.c */
/* LIBS: -rdynamic -Wl,--hash-style=gnu */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/hotspot.h"
#include "check.h"

#define MUTATIONS 20000
#define TEXT_BYTES 512

struct field {
	const char *type, *name, *type_text;
	int is_static;
	uint64_t offset;
	void *address;
};

static uint8_t perf_memory[4096];
static uint8_t *perf_memory_start = perf_memory;
static struct field fields[] = {
	{ "Klass", "_start", "int", 0, 8, NULL },
	{ "PerfMemory", "_end", "char*", 1, 0, NULL },
	{ "PerfMemory", "_start", "char*", 1, 0, &perf_memory_start },
	{},
};
const struct field *gHotSpotVMStructs = fields;
uint64_t gHotSpotVMStructEntryArrayStride = sizeof(struct field);
uint64_t gHotSpotVMStructEntryTypeNameOffset = offsetof(struct field, type);
uint64_t gHotSpotVMStructEntryFieldNameOffset = offsetof(struct field, name);
uint64_t gHotSpotVMStructEntryOffsetOffset = offsetof(struct field, offset);
uint64_t gHotSpotVMStructEntryAddressOffset = offsetof(struct field, address);

static struct fact_text fact;

static struct loaded_object this_program(void)
{
	uint64_t start = getauxval(AT_PHDR) - sizeof(Elf64_Ehdr);

	return (struct loaded_object){ .memory = open("/proc/self/mem", O_RDONLY),
				       .start = start,
				       .end = start + (1 << 20) };
}

/* Appends an entry and returns where the next one is to stand. */
static size_t add_entry(size_t at, const char *name, char type, const void *value, uint32_t bytes, uint32_t vector)
{
	uint32_t name_bytes = (strlen(name) + 8) & ~7U;
	uint32_t words[] = { 24 + name_bytes + bytes, 20, vector, (uint8_t)type, 24 + name_bytes - 4 };

	memcpy(perf_memory + at, words, sizeof(words));
	strcpy((char *)perf_memory + at + 20, name);
	memcpy(perf_memory + at + words[4], value, bytes);
	return at + words[0];
}

static void fill(void)
{
	static const uint8_t magic[] = { 0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1 };
	uint32_t rest[6] = { 0, 0, 0, 0, PERF_MEMORY_HEAD, 5 };
	int64_t stops = 23, lie = -1;
	size_t at = PERF_MEMORY_HEAD;

	memset(perf_memory, 0, sizeof(perf_memory));
	at = add_entry(at, "sun.rt.safepoints", 'J', &stops, 8, 0);
	at = add_entry(at, "sun.rt.javaCommand", 'B', "app --password=secret\0\0", 24, 24);
	at = add_entry(at, "sun.gc.cause", 'B', "No\033GC\0\0", 8, 8);
	at = add_entry(at, "sun.gc.collector.0.time", 'J', &lie, 8, 0);
	at = add_entry(at, "sun.gc.generation.0.agetable.bytes.00", 'J', &stops, 8, 0);
	rest[0] = at;
	memcpy(perf_memory, magic, sizeof(magic));
	memcpy(perf_memory + 8, rest, sizeof(rest));
}

static const char *text_of(size_t length, size_t limit)
{
	fact.length = 0;
	fact.truncated = false;
	perf_memory_text(perf_memory, length, limit, &fact);
	fact.text[fact.length] = 0;
	return fact.text;
}

static void counters_a_report_needs(void)
{
	fill();
	CHECK_TEXT(text_of(perf_memory_used(perf_memory), TEXT_BYTES),
		   "sun.rt.safepoints 23\nsun.gc.cause No?GC\nsun.gc.collector.0.time -1\n");
	CHECK_TEXT(text_of(PERF_MEMORY_HEAD, TEXT_BYTES), "");
	CHECK_TEXT(text_of(0, TEXT_BYTES), "");
	CHECK_TEXT(text_of(perf_memory_used(perf_memory), 30), "sun.rt.safepoints 23\n");
	CHECK(fact.truncated);
}

static void a_head_that_makes_no_sense(void)
{
	const uint32_t too_many = PERF_MEMORY_MAX + 1;

	for (int i = 0; i < 6; i++) { /* magic, order of bytes, version */
		fill();
		perf_memory[i] ^= 0xff;
		CHECK_NUMBER(perf_memory_used(perf_memory), 0);
	}
	fill();
	perf_memory[7] = 0; /* it is still being set up */
	CHECK_NUMBER(perf_memory_used(perf_memory), 0);
	fill();
	memcpy(perf_memory + 8, &too_many, sizeof(too_many));
	CHECK_NUMBER(perf_memory_used(perf_memory), 0);
}

static void exported_variables_of_this_program(void)
{
	struct loaded_object library = this_program();
	uint64_t address = 0;

	fill();
	CHECK_NUMBER(memory_symbol(&library, "gHotSpotVMStructs", &address), 0);
	CHECK(address == (uint64_t)&gHotSpotVMStructs);
	CHECK_NUMBER(memory_symbol(&library, "gHotSpotVMStruct", &address), -ENOENT);
	CHECK_NUMBER(hotspot_perf_memory(&library, &address), 0);
	CHECK(address == (uint64_t)perf_memory);
	perf_memory_start = NULL;
	CHECK_NUMBER(hotspot_perf_memory(&library, &address), -ENODATA);
	perf_memory_start = perf_memory;
	close(library.memory);
}

static void variables_that_lie(void)
{
	struct loaded_object library = this_program();
	const struct field *all = gHotSpotVMStructs;
	uint64_t address;

	gHotSpotVMStructs = (const struct field *)8;
	CHECK_NUMBER(hotspot_perf_memory(&library, &address), -ENOEXEC);
	gHotSpotVMStructs = all;
	gHotSpotVMStructEntryArrayStride = 1ULL << 63;
	CHECK_NUMBER(hotspot_perf_memory(&library, &address), -ENOEXEC);
	gHotSpotVMStructEntryArrayStride = 0;
	CHECK_NUMBER(hotspot_perf_memory(&library, &address), -ENOEXEC);
	gHotSpotVMStructEntryArrayStride = sizeof(struct field);
	gHotSpotVMStructEntryAddressOffset = sizeof(struct field) - 4;
	CHECK_NUMBER(hotspot_perf_memory(&library, &address), -ENOEXEC);
	gHotSpotVMStructEntryAddressOffset = offsetof(struct field, address);
	close(library.memory);
}

/* Whatever stands there: no read or write outside, as the sanitizers see, and an end. */
static void any_bytes_instead_of_counters(void)
{
	srand(23);
	for (int i = 0; i < MUTATIONS; i++) {
		size_t used;

		fill();
		for (int n = rand() % 6; n >= 0; n--)
			perf_memory[8 + rand() % 320] = rand() % 3 ? rand() : 0xff;
		used = perf_memory_used(perf_memory);
		text_of(used < sizeof(perf_memory) ? used : sizeof(perf_memory), TEXT_BYTES);
		CHECK(fact.length <= TEXT_BYTES && !strstr(fact.text, "secret"));
	}
}

static void any_bytes_instead_of_a_library(void)
{
	struct loaded_object library = this_program();
	const size_t page = sysconf(_SC_PAGESIZE);
	_cleanup_free_ uint8_t *copy = aligned_alloc(page, page);
	uint64_t start = library.start, address;

	srand(42);
	library.start = (uint64_t)copy;
	for (int i = 0; i < MUTATIONS; i++) {
		struct loaded_object spoiled = library; /* whose tables were not read yet */

		memcpy(copy, (const void *)start, page);
		for (int n = rand() % 4; n >= 0; n--)
			copy[rand() % 1024] = rand();
		memory_symbol(&spoiled, "gHotSpotVMStructs", &address);
	}
	memset(copy, 0, page);
	CHECK_NUMBER(memory_symbol(&library, "gHotSpotVMStructs", &address), -ENOEXEC);
	close(library.memory);
}

static void no_virtual_machine(void)
{
	struct wanted wanted = { .path = (char[32]){}, .limit = TEXT_BYTES };

	snprintf(wanted.path, 32, HOTSPOT_FACTS "%d", getpid());
	fact = (struct fact_text){};
	fact_read_hotspot(&wanted, &fact);
	CHECK_NUMBER(fact.error, 0);
	CHECK_NUMBER(fact.length, 0);
	CHECK(!hotspot_suspected(getpid()));
}

int main(void)
{
	RUN(counters_a_report_needs);
	RUN(a_head_that_makes_no_sense);
	RUN(exported_variables_of_this_program);
	RUN(variables_that_lie);
	RUN(any_bytes_instead_of_counters);
	RUN(any_bytes_instead_of_a_library);
	RUN(no_virtual_machine);
	return check_result();
}
