// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <fcntl.h>
#include <gelf.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "symbols/go_symbols.h"
#include "symbols/symbol_lookup.h"
#include "symbols/symbol_name.h"

#define LONGEST_BUILD_ID 64
#define TABLES_BYTES (256 * 1024 * 1024)  /* of symbols in one file: those of a browser have half of it */
#define UNPACKED_BYTES (64 * 1024 * 1024) /* bound for a compressed symbol table, and for what unpacking takes */

static void cleanup_elf(Elf **elf)
{
	elf_end(*elf); /* takes NULL */
}
#define _cleanup_elf_ __attribute__((cleanup(cleanup_elf)))

/* What is looked for in one file and what belongs to it. */
struct search {
	struct lookup *lookups;
	size_t count;
	uint64_t room_bytes; /* of TABLES_BYTES; a hostile file can have the same table a thousand times */
	enum symbol_lack lack;
};

static int compare_places(const void *left, const void *right)
{
	const struct lookup *a = left, *b = right;

	return a->place < b->place ? -1 : a->place > b->place;
}

/* Offsets in the file become addresses of its executable segments. */
static void locate(Elf *elf, struct lookup *lookups, size_t count)
{
	size_t segments = 0;
	GElf_Phdr segment;

	elf_getphdrnum(elf, &segments);
	for (size_t i = 0; i < count; i++) {
		struct lookup *lookup = &lookups[i];

		for (size_t n = 0; n < segments && !lookup->in_code; n++) {
			if (!gelf_getphdr(elf, n, &segment) || segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
			    lookup->place < segment.p_offset || lookup->place - segment.p_offset >= segment.p_filesz)
				continue;
			lookup->place = lookup->place - segment.p_offset + segment.p_vaddr;
			lookup->in_code = true;
		}
	}
	qsort(lookups, count, sizeof(*lookups), compare_places);
}

/* Innermost first; among names of one start the one people know. */
static bool is_better(const struct lookup *lookup, const char *symbol, uint64_t start)
{
	size_t underscores, best;

	if (!lookup->symbol || start != lookup->symbol_start)
		return !lookup->symbol || start > lookup->symbol_start;
	underscores = symbol_name_underscores(symbol);
	best = symbol_name_underscores(lookup->symbol);
	if (underscores != best)
		return underscores < best;
	return symbol_name_length(symbol) < symbol_name_length(lookup->symbol);
}

/*
 * Offers one function to the addresses it covers.  One without a size covers nothing: whoever takes the nearest
 * symbol below an address names the wrong function in every stripped binary.
 */
static void offer(const char *symbol, uint64_t start, uint64_t size, struct lookup *lookups, size_t count)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lookups[middle].place < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && lookups[low].place - start < size; low++) {
		bool pointer = lookups[low].only_code && lookups[low].place == start; /* no call returns there */

		if (!lookups[low].in_code || pointer || !is_better(&lookups[low], symbol, start))
			continue;
		lookups[low].symbol = symbol;
		lookups[low].symbol_start = start;
	}
}

/* libelf says of a table of sections that does not lie in its file that there is none. */
static bool has_its_sections(Elf *elf)
{
	GElf_Ehdr header;
	size_t count, bytes;

	if (!gelf_getehdr(elf, &header) || !elf_rawfile(elf, &bytes) || elf_getshdrnum(elf, &count))
		return false;
	return !header.e_shoff || (count && header.e_shoff < bytes && header.e_shentsize &&
				   (bytes - header.e_shoff) / header.e_shentsize >= count);
}

/* The entries of a table of symbols, or NULL: then search->lack says why. */
static Elf_Data *table_of(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct search *search)
{
	Elf_Data *data;
	size_t bytes;

	if (header->sh_size > search->room_bytes) {
		search->lack = elf_rawfile(elf, &bytes) && header->sh_size < bytes ? LACK_TOO_LARGE : LACK_DAMAGED;
		return NULL;
	}
	search->room_bytes -= header->sh_size;
	data = elf_getdata(section, NULL);
	if (data ? header->sh_flags & SHF_COMPRESSED : header->sh_size) { /* no linker compresses it */
		search->lack = LACK_DAMAGED;
		return NULL;
	}
	return data;
}

static bool offer_table(Elf *elf, Elf64_Word type, struct search *search)
{
	Elf_Scn *section = NULL;
	bool found = false;

	while (elf && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;
		GElf_Sym symbol;

		if (!gelf_getshdr(section, &header) || header.sh_type != type)
			continue;
		data = table_of(elf, section, &header, search);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			int kind = GELF_ST_TYPE(symbol.st_info);
			const char *name;

			if ((kind != STT_FUNC && kind != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
			    !symbol.st_size)
				continue;
			name = elf_strptr(elf, header.sh_link, symbol.st_name);
			if (!name)
				search->lack = LACK_DAMAGED;
			if (!name || !*name)
				continue;
			offer(name, symbol.st_value, symbol.st_size, search->lookups, search->count);
			found = true;
		}
	}
	return found;
}

static Elf_Scn *section_named(Elf *elf, const char *wanted, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, header))
			continue;
		name = elf_strptr(elf, names, header->sh_name);
		if (name && !strcmp(name, wanted))
			return section;
	}
	return NULL;
}

static Elf_Data *section_data(Elf *elf, const char *wanted)
{
	GElf_Shdr header;
	Elf_Scn *section = section_named(elf, wanted, &header);

	return section ? elf_rawdata(section, NULL) : NULL;
}

static void offer_of_go(void *context, const char *symbol, uint64_t start, uint64_t size)
{
	struct search *search = context;

	offer(symbol, start, size, search->lookups, search->count);
}

/* Where strip left none of the other tables. */
static void offer_go_table(Elf *elf, struct search *search)
{
	Elf_Data *table = section_data(elf, ".gopclntab");
	GElf_Ehdr header;
	GElf_Shdr code;

	if (!table || !table->d_buf || !gelf_getehdr(elf, &header) || !section_named(elf, ".text", &code))
		return;
	go_symbols_offer(&(struct go_table){ table->d_buf, table->d_size, code.sh_addr, header.e_entry }, offer_of_go,
			 search);
}

/* Some distributions pack the function names of a stripped binary into a section of it: an ELF file under xz. */
static Elf *open_packed(Elf *elf, char **image, enum symbol_lack *lack)
{
	Elf_Data *packed = section_data(elf, ".gnu_debugdata");
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret result;

	if (!packed || !packed->d_buf)
		return NULL;
	*image = malloc(UNPACKED_BYTES);
	if (!*image)
		return NULL;
	stream.next_in = packed->d_buf;
	stream.avail_in = packed->d_size;
	stream.next_out = (uint8_t *)*image;
	stream.avail_out = UNPACKED_BYTES;
	result = lzma_stream_decoder(&stream, UNPACKED_BYTES, 0);
	if (result == LZMA_OK)
		result = lzma_code(&stream, LZMA_FINISH);
	lzma_end(&stream);
	if (result == LZMA_STREAM_END)
		return elf_memory(*image, stream.total_out);
	*lack = !stream.avail_out || result == LZMA_MEMLIMIT_ERROR ? LACK_TOO_LARGE : LACK_DAMAGED;
	return NULL;
}

/* The separate file of debugging symbols that belongs to this very build, where the host has it installed. */
static Elf *open_separate(Elf *elf, int *fd)
{
	Elf_Data *notes = section_data(elf, ".note.gnu.build-id");
	char path[sizeof(BUILD_ID_DIRECTORY) + 2 * LONGEST_BUILD_ID + sizeof("/.debug")], *at = path;
	size_t name, id;
	struct stat status;
	GElf_Nhdr note;

	if (!notes || !gelf_getnote(notes, 0, &note, &name, &id) || note.n_type != NT_GNU_BUILD_ID ||
	    note.n_descsz < 2 || note.n_descsz > LONGEST_BUILD_ID)
		return NULL;
	at = stpcpy(at, BUILD_ID_DIRECTORY);
	for (size_t i = 0; i < note.n_descsz; i++)
		at += sprintf(at, i == 1 ? "/%02x" : "%02x", ((const uint8_t *)notes->d_buf)[id + i]);
	strcpy(at, ".debug");
	*fd = open(path, SEPARATE_FILE_FLAGS);
	if (*fd < 0 || fstat(*fd, &status) || !S_ISREG(status.st_mode))
		return NULL;
	return elf_begin(*fd, ELF_C_READ_MMAP, NULL);
}

void elf_symbols_find(struct mapped_file *file, struct lookup *lookups, size_t count, FILE *results)
{
	_cleanup_free_ char *image = NULL;
	_cleanup_close_ int separate_fd = -1;
	_cleanup_elf_ Elf *elf = NULL, *packed = NULL, *separate = NULL;
	struct search search = { .lookups = lookups, .count = count, .room_bytes = TABLES_BYTES };

	elf_version(EV_CURRENT);
	elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		file->lack = LACK_NO_ELF;
		return;
	}
	locate(elf, lookups, count);
	if (!has_its_sections(elf))
		search.lack = LACK_DAMAGED;
	if (!offer_table(elf, SHT_SYMTAB, &search)) {
		packed = open_packed(elf, &image, &search.lack);
		separate = open_separate(elf, &separate_fd);
		offer_table(separate, SHT_SYMTAB, &search);
		offer_table(packed, SHT_SYMTAB, &search);
		offer_table(elf, SHT_DYNSYM, &search);
		offer_go_table(elf, &search);
	}
	file->lack = search.lack;
	for (size_t i = 0; i < count; i++)
		if (lookups[i].symbol)
			lookup_report(&lookups[i], lookups[i].symbol, symbol_name_length(lookups[i].symbol), file->name,
				      results);
}
