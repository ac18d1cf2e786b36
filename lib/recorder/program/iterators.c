// SPDX-License-Identifier: GPL-2.0-only
/* The programs that go over all tasks, or one, when they are read. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "program/probes.h"
#include "perfdiag.skel.h"

/* To be read and closed; -errno. */
static int iterator_fd(struct recorder *recorder, const struct bpf_program *program)
{
	for (size_t i = 0; i < probes_count(); i++)
		if (recorder->probes[i].program == program && recorder->probes[i].link)
			return bpf_iter_create(bpf_link__fd(recorder->probes[i].link));
	return -ENOENT;
}

/* Reads an iterator that writes nothing. */
static void drain(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		;
}

static int run_iterator(struct recorder *recorder, const struct bpf_program *program)
{
	_cleanup_close_ int fd = iterator_fd(recorder, program);

	if (fd < 0)
		return fd;
	drain(fd);
	return 0;
}

int probes_sweep(struct recorder *recorder)
{
	const __u32 *swept_up = &recorder->skeleton->bss->swept_up;
	__u32 before;
	int err;

	/*
	 * Until none is found: a child is met before its parent when numbers of processes begin anew, and a thread made
	 * during a pass by one not yet met has no record from its fork.  (Of a host all have.)
	 */
	do {
		before = *swept_up;
		err = run_iterator(recorder, recorder->skeleton->progs.sweep);
	} while (!err && *swept_up != before);
	return err;
}

int probes_meet_peers(struct recorder *recorder)
{
	return run_iterator(recorder, recorder->skeleton->progs.meet_peers);
}

int probes_gather_reasons(struct recorder *recorder)
{
	return run_iterator(recorder, recorder->skeleton->progs.gather_reasons);
}

void probes_meet(struct recorder *recorder, pid_t tid)
{
	union bpf_iter_link_info one = { .task.tid = tid };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &one, .link_info_len = sizeof(one));
	struct bpf_link *link = bpf_program__attach_iter(recorder->skeleton->progs.sweep, &options);
	_cleanup_close_ int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	struct knobs *knobs = &recorder->skeleton->bss->knobs;

	knobs->meeting = 1;
	if (fd >= 0)
		drain(fd);
	knobs->meeting = 0;
	bpf_link__destroy(link);
	recorder->skeleton->bss->asked[tid % ASKED] = 0;
}

int probes_left_unread_fd(struct recorder *recorder)
{
	return iterator_fd(recorder, recorder->skeleton->progs.tell_left_unread);
}

int probes_chains_fd(struct recorder *recorder)
{
	return iterator_fd(recorder, recorder->skeleton->progs.copy_chains);
}

int probes_snapshot_fd(struct recorder *recorder)
{
	return iterator_fd(recorder, recorder->skeleton->progs.snapshot);
}
