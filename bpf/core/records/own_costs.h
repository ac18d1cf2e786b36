/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h that programs tell of their own run time; included there. */
#pragma once

/* Those that run for each switch, call, segment or tick; the others run rarely. */
enum timed_program {
	TIMED_SWITCH,
	TIMED_WAKING,
	TIMED_INTERRUPT,
	TIMED_TICK,
	TIMED_FAILED_CALL,
	TIMED_RECEIVED,
	TIMED_SENT,
	TIMED_READABLE,
	TIMED_ROOM,
	TIMED_PROGRAMS
};

/* Of so many runs one is timed: a prime, so that no pattern of runs keeps step with it.  Ticks are few, and each is dear. */
static inline __u32 timed_each(__u32 program)
{
	return program == TIMED_TICK ? 1 : 61;
}

struct own_cost {
	__u64 ns;	/* of the runs that were timed */
	__u64 began;	/* the one that is being timed; 0: none is */
	__u32 to_come;	/* runs until the next one that is timed */
	__u32 requests; /* of TIMED_SENT: that were answered, on connections of which some may be left out */
	__u64 reads,
		reads_told; /* of TIMED_RECEIVED: on those, since some are left out, and how many those followed tell */
};
