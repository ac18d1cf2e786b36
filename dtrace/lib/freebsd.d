/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the libraries of FreeBSD's DTrace lack: dtrace -L lib -s SCRIPT.  Never run; names are those of FreeBSD's sources.
 * Other systems skip it: they have no module of this name.
 */
#pragma D depends_on module kernel

/*
 * The state that curlwpsinfo tells here is always 0.  A thread that leaves a CPU then counts as one that could go on; if
 * it sleeps, its wake-up sets the beginning of its wait anew.
 */
inline char SRUN = 0;
