/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the forked child of user_symbols_resolve(): addresses on their way to a name.  First everything that needs
 * a privilege is opened (process_maps.c), then the privileges are given up, and only then bytes that somebody else
 * wrote are interpreted (hotspot_code.c, elf_symbols.c, perf_map.c).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "base/hotspot_layout.h"
#include "symbols/symbols.h"

/* Where files of debugging symbols lie; they are opened late, by what a program says of its build. */
#define BUILD_ID_DIRECTORY "/usr/lib/debug/.build-id/"
#define SEPARATE_FILE_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK)

struct mapped_file {
	uint64_t device, inode; /* inode 0: no file */
	char *name;		/* base name */
	int fd;			/* -1: it could not be opened, or is no file */
	enum symbol_lack lack;	/* of addresses in it that get no name */
};

struct mapped_files {
	struct mapped_file **files;
	size_t count;
};

struct lookup {
	uint32_t index; /* in the caller's array */
	pid_t pid;
	uint64_t address;
	bool only_code;
	struct mapped_file *file; /* NULL: not in executable memory */
	uint64_t place;		  /* offset in the file, later address as its ELF headers have it */
	bool in_code;		  /* place is such an address, of an executable segment */
	bool named;
	const char *symbol; /* best so far */
	uint64_t symbol_start;
	char *of_machine;      /* what a virtual machine's memory says, NULL: nothing; for want of a better name */
	bool is_method;	       /* of_machine */
	enum symbol_lack lack; /* what is known beside that of the file */
};

/*
 * Finds the mapped files of one process's addresses, sorted by address, and opens each file once; and the memory of the
 * process, if it is a virtual machine of HotSpot and memory may be read, else `memory` is -1.
 */
int process_maps_find(pid_t pid, struct lookup *lookups, size_t count, struct mapped_files *files,
		      struct hotspot_library *library);
#define MAP_REFUSED (-EXDEV)  /* which no call gives here: it is there, but may be another's */
int perf_map_open(pid_t pid); /* a descriptor or -errno */

/* Name all they can of lookups in one file or of one process; sort them on the way. */
void elf_symbols_find(struct mapped_file *file, struct lookup *lookups, size_t count, FILE *results);
void hotspot_symbols_find(struct loaded_object *library, struct lookup *lookups, size_t count); /* in of_machine */
void perf_map_find(int fd, struct lookup *lookups, size_t count, FILE *results);

/* Tells the parent: "function (module)", or the place if symbol is NULL. */
void lookup_report(struct lookup *lookup, const char *symbol, size_t length, const char *module, FILE *results);
