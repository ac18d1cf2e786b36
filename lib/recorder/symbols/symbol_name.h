/* SPDX-License-Identifier: GPL-2.0-only */
/* What compilers and linkers append to a function's name is not part of it: neither for people nor for comparisons. */
#pragma once
#include <ctype.h>
#include <stddef.h>
#include <string.h>

/*
 * Length of name without ".isra.0", ".constprop.0", ".part.0", ".llvm.123", ".lto_priv.0" and "@@GLIBC_2.34".
 * ".cold" stays: that is a piece of its own at another address.  Go's "main.main" stays as well.
 */
static inline size_t symbol_name_length(const char *name)
{
	static const char *const suffixes[] = { ".isra.", ".constprop.", ".part.", ".llvm.", ".lto_priv." };
	size_t length = strcspn(name, "@");

	if (!length)
		return strlen(name);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		const char *at = strstr(name, suffixes[i]);

		if (at && at > name && (size_t)(at - name) < length &&
		    isdigit((unsigned char)at[strlen(suffixes[i])]) && !strstr(at, ".cold"))
			length = at - name;
	}
	return length;
}

/* The better of two names of one address has fewer underscores in front: write rather than __GI___libc_write. */
static inline size_t symbol_name_underscores(const char *name)
{
	size_t count = strspn(name, "_");

	return strncmp(name + count, "GI_", 3) ? count : count + 3 + strspn(name + count + 3, "_");
}
