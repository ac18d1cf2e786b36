/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of the recorder's processes keeps which capabilities.  perfdiag(8) has the same as a table with the reasons;
 * a test holds the table against /proc/PID/status.
 */
#pragma once
#include "base/capabilities.h"
#include "output/json.h"

/* The recorder in its window: it locks memory, ends helpers of another user, and reads /proc mounted with hidepid. */
#define OF_RECORDER (CAPABILITY(IPC_LOCK) | CAPABILITY(KILL) | CAPABILITY(SYS_PTRACE))
/* Children that read what the owner of a process may read of it. */
#define OF_SLEEPERS (CAPABILITY(DAC_READ_SEARCH) | CAPABILITY(SYS_PTRACE))
#define OF_MAPS (OF_SLEEPERS | CAPABILITY(CHECKPOINT_RESTORE))		    /* map_files */
#define OF_SYMBOLS (OF_MAPS | CAPABILITY(SETGID) | CAPABILITY(SETUID))	    /* to become nobody: then none */
#define OF_FACTS (OF_SLEEPERS | CAPABILITY(SYSLOG) | CAPABILITY(SYS_RAWIO)) /* kernel log; /dev/cpu/N/msr */
#define OF_NAMESPACES CAPABILITY(SYS_ADMIN)				    /* namespaces.c */
#define OF_WINDOW (OF_RECORDER | OF_SYMBOLS | OF_FACTS)			    /* with those of OF_SLEEPERS and OF_MAPS */
/* Until everything is attached. */
#define OF_LOADING (OF_WINDOW | CAPABILITY(BPF) | CAPABILITY(PERFMON) | CAPABILITY(SYS_ADMIN))

/* 0, or -errno and has said why. */
void privileges_begin(void); /* before anything is loaded: keeps all, as a script may have to be started */
int privileges_loaded(void); /* no script is started any more */
int privileges_attached(void);
bool privileges_has(uint64_t capability); /* it was there at the beginning */
bool privileges_are_of_namespace(void);	  /* of a user namespace alone: there root is none for BPF */
void privileges_write(struct json *json); /* the header's "lacks" */
