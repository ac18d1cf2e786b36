/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h that is told of all requests and calls of one name or peer; included there. */
#pragma once

struct exchange_key {
	__u64 object;
	__u32 name, direction;
};

/* Requests of one name on one port, calls of one peer. */
struct exchange_sum {
	/* What every request adds to, in one line of memory. */
	__u64 count; /* answered */
	__u64 ns;    /* requests: until the last byte of the answer; calls: until its first */
	__u64 whole; /* requests that one thread served: their parts are known */
	__u64 whole_ns;
	__u64 first_byte_ns; /* of requests, until the first byte of the answer */
	__u64 bytes_in, bytes_out;
	__u64 unanswered;	    /* the connection ended before */
	__u64 unanswered_ns;	    /* of these calls, while a request that they were made for waited */
	__u64 unanswered_lasted_ns; /* of these calls, until their connection ended */
	__u64 timed_out;	    /* of these calls, after a wait for the answer had ended by time */
	__u64 greetings;	    /* connections on which the peer said something before it was asked */
	__u64 greeting_ns;	    /* of these, since they were made */
	__u64 rest_ns;		    /* of answered calls, while their request waited for more of the answer */
	__u64 until_end;    /* answered calls: their request waited on, and nothing came but the connection's end */
	__u64 until_end_ns; /* of these, how long that was */
	__u64 behind;	 /* calls for requests, sent on a connection where one that was not theirs was not answered */
	__u64 behind_ns; /* of these, until it was */
	__u64 unawaited; /* calls: more was sent, after a wait for the answer had ended by time; of UDP: all sent */
	__u64 unawaited_ns; /* of these calls, until more was sent */
	__u64 untimed; /* requests of which nothing tells whether they were answered, or had to be; of UDP: all received */
	__u64 unsure;	/* answered ones of which that is not sure, see there */
	__u64 open;	/* not answered when the window ended */
	__u64 early;	/* requests that came in well before the one before was answered: pipelined */
	__u64 declined; /* connections whose requests are told apart by frames */
	__u64 turns;	/* answered ones whose thread had turned to them from another connection, still open */
	__u64 missed;	/* answered ones that have looked up what was not there: STATUS_MISS */
	__u64 missed_ns;
	__u64 read_delay_ns;
	__u64 unread_error_ns; /* of these so much can be told as the wrong parts of it */
	__u64 unread_peers_ns; /* of these, while a call for the request before was under way, and the reader idle */
	__u64 arriving_ns;     /* of requests, from their first byte read until their last */
	__u64 peers_ns;
	__u64 connects, connects_failed;
	__u64 connecting; /* neither, when the window ended */
	__u64 retries;	  /* SYNs sent again; look-ups asked again */
	__u64 busy_ns;	  /* while one or more were not answered */
	__u64 connect_ns;
	__u64 untaken_ns;		     /* of requests, while what clients had not taken filled send buffers */
	__u64 untaken_limit_ns[SEND_LIMITS]; /* of those, by what mostly kept each request's answer */
	__u64 held_ns; /* until the last of what was asked, or answered, had left this host, kept back by its kernel */
	__u64 corked_ns; /* the same, but kept back for more that the sender had said would come */
	__u64 resent; /* requests of whose answers segments were sent again by a timeout, after the last was written */
	__u64 resent_ns;
	__u64 awaited; /* of those by UDP that are open: somebody watches their socket */
	__u64 squares; /* since not all connections are followed: times how many each stands for, the variance of `count` */
	__u64 parts_ns[ACCOUNT_COUNT];
	__u64 oldest_ns;	     /* of those that are open */
	__u64 unanswered_longest_ns; /* of requests whose connection ended */
	__u64 busy_since;
	__s64 busy; /* how many just now */
};

/* What user space tells and asks request/connection.bpf.c where it is to follow fewer connections. */
#define MOST_HALVINGS 11

enum forget {
	FORGET_NONE, /* they are counted only */
	FORGET_LEFT_OUT,
	FORGET_ALL,
};

struct thinning {
	__u32 forget; /* enum forget */
	__u32 now[MOST_HALVINGS +
		  1]; /* those that may be left out, by how often they could be halved and that one stays */
};

/*
 * How many there are at once (levels.h): for how long at least as many as the lowest level of a slot.  While there are that
 * many, the clock of the end is still to be added.
 */
#define LEVELS 64
#define MOST_LEVEL 128 /* from here on, the slots do not tell levels apart */

struct levels {
	__u64 at_least_ns[LEVELS];
	__u32 most;
	__u32 padding;
};

/* Calls of one peer. */
struct call_levels {
	struct levels levels;
	__u64 answered[LEVELS]; /* with so many outstanding; times CALL_WAITED: meanwhile a request had no call under way */
};

#define CALL_WAITED (1ULL << 32)

/* Requests that were read and are not answered, of all ports together, and what they have under way. */
struct inside {
	__s64 requests; /* just now */
	__s64 calls;	/* of TCP and unix sockets that are not answered, to whomever */
	struct levels levels;
	__u64 accepted;	       /* connections that something was received on, or sent, in the window */
	__u64 may_be_left_out; /* of them, see request/connection_sample.bpf.h */
	__u64 accompanied_ns;  /* of requests in progress, as far as there were as many calls at that moment */
	__u64 alone_ns;	       /* of calls, as far as there were fewer requests at that moment */
	__u64 busy_since;      /* since when there was one or more; of the last time, if there is none now */
	__u64 left_at;	       /* when the last one was answered */
	__u64 unasked;	       /* sends on accepted connections that answer nothing: news, greetings */
	__u64 unasked_bytes;
	__u64 unasked_connections; /* that got it more than once */
	__u64 changed_at;
	__u64 unseen; /* sockets that were closed in the middle, which nothing told: their requests or calls counted on */
};

/* Where requests were parked that one thread served. */
struct parked_key {
	__u64 object;
	__u32 tgid;
	__u16 over_slo;
	__u16 sampled; /* of connections of which some may be left out */
};

struct parked_sum {
	__u64 count; /* of requests */
	__u64 ns;
};

/* Where the readers of requests were while these lay unread. */
struct unread_key {
	__u64 object; /* of the requests, as in struct exchange_key */
	__u32 name;
	__u32 over_slo;
	union unread_in in;
};

/*
 * A request that has arrived and that nobody has read when the window ends; or, `silent`, a connection that nobody has used
 * in the window, and whose last word asks for an answer, if anything does.
 */
struct left_unread {
	__u64 sock;   /* whose it is: processes share those that listen */
	__u64 object; /* as in struct exchange_key */
	__u64 begun;  /* 0: not known; of a silent one also whose the last word is */
	__u32 tid;    /* who read there last; 0: not known */
	__u32 tgid;
	__u8 direction; /* enum direction */
	__u8 silent;
	__u8 never;  /* who was asked there has not said anything yet */
	__u8 queued; /* nobody has accepted its connection */
	__u8 padding[4];
};

/* What is timed of an exchange: of requests all, of calls the first two. */
enum measure {
	MEASURE_WHOLE,
	MEASURE_FIRST_BYTE,
	MEASURE_CONNECT = MEASURE_FIRST_BYTE,
	MEASURE_READ_DELAY,
	MEASURE_COUNT,
};

/*
 * Sixteen buckets for each doubling, of 1,024 ns and more: a quantile is right to 3 %.  Bucket i < 16 counts i units,
 * above that 16 + 16 d + s those of 2^(d+4) (1 + s/16) units.
 */
#define LATENCY_DOUBLINGS 27 /* above that, 35 minutes, one bucket holds all */
#define LATENCY_BUCKETS (16 + 16 * LATENCY_DOUBLINGS)
#define LATENCY_UNIT_SHIFT 10

struct latency {
	__u64 max_ns;
	__u32 buckets[LATENCY_BUCKETS];
};

/* All of one key: one look-up tells what is to be counted where. */
struct exchange_tally {
	struct exchange_sum sums[2]; /* below the objective; as long as it, or longer */
	struct latency latencies[MEASURE_COUNT];
	struct call_levels calls;
};

/* Calls of one name to one peer, for requests of one name. */
struct named_call_key {
	__u64 object; /* as in struct exchange_key */
	__u32 name;
	__u32 request; /* name of the request that waits for it; 0: it shows none, or none is known */
};

struct named_call_sum {
	__u64 count, ns; /* answered: until the first byte */
	__u64 owned;	 /* of those, for a request that is known */
	__u64 missed;	 /* of those, what was looked up is not there: STATUS_MISS */
	struct latency latency;
};
