/* SPDX-License-Identifier: GPL-2.0-only */
/* Host mode: what stands in the recording for each process, when all tasks of the host are followed. */
#pragma once
#include "recorder.h"

#define HOST_PIDS 32 /* whose files are read as host facts at the end */

/*
 * One thread's books, when it ends or at the end of the window, and its record as it was before its open segment was
 * added.  False: it is to be folded by name, for there are too many processes.
 */
bool host_take(struct recorder *recorder, const struct record *record, const struct record *open);
/* Under which process its details are kept: kernel threads of one name (nfsd, kworker) are one. */
uint32_t host_pid(struct recorder *recorder, const struct record *record);
/* The name of its process, without the numbers that tell kernel threads of one kind apart ("kworker/0:1"). */
void host_comm(const struct record *record, char comm[COMM_BYTES]);
/* The process of a thread that was taken; 0: not known. */
uint32_t host_process_of(const struct recorder *recorder, uint32_t tid);
/* Decides who gets a line of its own; then whether a process is one of those, and who are the busiest. */
void host_choose(struct recorder *recorder);
bool host_keeps(const struct recorder *recorder, uint32_t pid);
size_t host_busiest(const struct recorder *recorder, pid_t pids[HOST_PIDS]);
void host_write(struct recorder *recorder);
void host_free(struct recorder *recorder);
