#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Writes `[0] = "read",` for every system call that a header defines: syscall_names.sh asm/unistd_32.h
# CC and CPPFLAGS choose the compiler and where it finds the header.
set -eu
header=$1
# Two passes of the preprocessor: the first lists the macros, the second puts their values in.
# __NR_syscalls and __NR_arch_specific_syscall are a count and a base, no calls.
# shellcheck disable=SC2086  # CC and CPPFLAGS are lists of words
names=$(echo "#include <$header>" | ${CC:-cc} ${CPPFLAGS:-} -E -dM - |
	sed -n 's/^#define __NR_\([a-z0-9_]*\) .*/\1/p' | grep -vx -e syscalls -e arch_specific_syscall | sort)
# shellcheck disable=SC2086
{
	echo "#include <$header>"
	for name in $names; do
		echo "[__NR_$name] = \"$name\","
	done
} | ${CC:-cc} ${CPPFLAGS:-} -E -P - | grep '^\['
