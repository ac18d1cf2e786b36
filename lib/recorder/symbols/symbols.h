/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names for addresses.  Kernel: /proc/kallsyms.  User space: the symbol tables of the files that a process maps, and
 * for code made at run time perf maps (/tmp/perf-PID.map), or the memory of Java's virtual machine.  User space is asked
 * in a forked child with a deadline: opening a binary on a dead mount never returns.  The child gives up all privileges
 * before it parses anything.
 * C++ and Rust names stay mangled: undoing that is for whoever shows them.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kernel_symbols;
struct interpreter;

/* Takes about 40 ms and 2.5 MB: free it when the names are known.  -EPERM: addresses are hidden (kptr_restrict). */
int kernel_symbols_load(struct kernel_symbols **ret);
/*
 * Start and end address of a function; -ENOENT if there is none of that name (a ".cold" part is not it).  A variant
 * the compiler made ("name.isra.0") is found if there is no other; the first of several functions of one name.
 */
int kernel_symbols_range(const struct kernel_symbols *symbols, const char *name, uint64_t *start, uint64_t *end);
/* Another function, of so many bytes; to be sorted in when the last one was added. */
int kernel_symbols_add(struct kernel_symbols *symbols, uint64_t address, uint64_t bytes, const char *name);
void kernel_symbols_sort(struct kernel_symbols *symbols);
/* Name of the function around address, or NULL. */
const char *kernel_symbols_name(const struct kernel_symbols *symbols, uint64_t address);
void kernel_symbols_free(struct kernel_symbols *symbols);

/* Why an address has no name.  LACK_NONE also where its file has no function there, as a stripped one. */
enum symbol_lack {
	LACK_NONE,
	LACK_NOT_OPENED,
	LACK_NO_ELF,
	LACK_DAMAGED,	  /* its table of symbols */
	LACK_TOO_LARGE,	  /* the same */
	LACK_MAP_REFUSED, /* a perf map is there, but may be somebody else's */
	LACK_LATE,	  /* the deadline had passed */
	LACK_ENDED,	  /* the process that reads them had ended */
	LACK_NOT_STARTED, /* no process to read them */
	LACKS
};

struct user_address {
	pid_t pid;
	uint64_t address;
	bool return_address; /* look up address - 1: a call may be a function's last instruction */
	bool only_code; /* from a stack scan: leave name NULL unless it lies inside a function, of a file not at its start */
	char *name; /* result: "function (module)" or "0x1234 (module)", freed by the caller; NULL: unknown */
	enum symbol_lack lack; /* result, but for only_code */
};

/*
 * Fills in the names of all addresses it can within the deadline; returns how many it named or -errno.  An address
 * that has a name already is left alone.  There is no name outside of executable memory, none for a process that
 * ended before it was met, and none where two processes had the same number one after the other.
 */
int user_symbols_resolve(struct user_address *addresses, size_t count, unsigned int deadline_ms);
/* The file that was read when the last of these broke off (LACK_LATE, LACK_ENDED), "" for none. */
const char *user_symbols_broke_in(void);

/*
 * Says that there are or will be addresses of a process to name, so that it can be done after its end: a helper reads
 * what it has mapped.  Costs next to nothing if called again and again; asks anew whenever the process's age has
 * doubled, or it has become another program (after_exec).
 */
void user_symbols_meet(pid_t pid, bool after_exec);
/*
 * Whether the memory of processes may be read for names: those of scripts, by looking for interpreters in the processes
 * that are met, and those of Java's methods; by default not.
 */
void user_symbols_read_memory(bool read);
/* The interpreter of scripts that a process is, root 0 where it is none; false: nothing new is known of it. */
bool user_symbols_interpreter(pid_t pid, struct interpreter *ret);
/* Ends the helper and forgets all processes; until then the helper waits for more, as a child of the caller. */
void user_symbols_end(void);
