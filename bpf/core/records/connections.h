/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h that is the state of one connection, and of the exchange it is in; included there. */
#pragma once

/* Whose side of a connection the target has. */
enum direction {
	DIRECTION_ACCEPTED = 1,	 /* its local port listens: what comes in are requests */
	DIRECTION_CONNECTED,	 /* what goes out are calls */
	DIRECTION_LOOKUP,	 /* calls, too: of names, by UDP */
	DIRECTION_DATAGRAM,	 /* what goes out by UDP else may ask for something */
	DIRECTION_DATAGRAM_PORT, /* what comes in by UDP where nothing was sent before may */
};

enum exchange {
	EXCHANGE_NONE, /* nothing asked, or all answered */
	EXCHANGE_ASKED,
	EXCHANGE_ANSWERED, /* at least the first byte */
};

/* May what was sent be no answer? */
enum unsure {
	UNSURE_TELLS = 1,  /* the target has sent there what nobody asked for, which may have been acknowledged */
	UNSURE_LATE = 2,   /* it waited for something to do before, and read nothing that an answer could be made of */
	UNSURE_PAUSES = 4, /* the request came in pieces, with pauses, and no name tells where it begins */
	UNSURE_LATE_FIRST = 8, /* as UNSURE_LATE, of the first request of a connection: counts only if news follows */
};

/* Why this host's kernel keeps back the last of what was sent. */
enum holder {
	HELD_BY_NOBODY,
	HELD_BY_NAGLE, /* until the peer has acknowledged what was sent before */
	HELD_BY_CORK,  /* until more is sent, or the socket uncorked; else for 200 ms or more (tcp_probe0_base()) */
};

/* Does what comes name requests, in plain text? */
enum nameless {
	NAMES,
	NAMES_COMMANDS, /* of Redis and memcached: not all of them want an answer */
	NAMELESS_FIRST, /* the first that was seen: it may be the rest of one from before the window */
	NAMELESS,
};

enum tls {
	TLS_NONE,
	TLS_SHAKES, /* hands: what is sent and received is no request */
	TLS_TALKS,
};

#define NAME_OTHERS 1	/* instead of a name's hash: of all that came when there was no room for more names */
#define NAME_ALL 2	/* likewise: no names are kept */
#define REQUEST_PARTS 8 /* accounts of one request, and futexes; what finds no room is told as the rest */
#define UNREAD_PARTS 12 /* likewise while it lay unread */

/* In what the thread was that read a request, while that lay unread; compared as one word. */
union unread_in {
	struct {
		__u16 account; /* enum account: its own */
		__u16 root;    /* likewise: of whom it waited for; its own, where that is nobody */
		__u8 served;   /* it was with another request */
		__u8 padding[3];
	};
	__u64 word;
};

struct unread_parts {
	__u32 used; /* so many of them; the others hold what earlier requests left there */
	__u32 padding;
	struct unread_part {
		__u64 ns;
		union unread_in in;
	} parts[UNREAD_PARTS];
};

/* What keeps an answer in a full send buffer. */
enum send_limit { SEND_LIMIT_WINDOW, SEND_LIMIT_CONGESTION, SEND_LIMIT_BUFFER, SEND_LIMITS };

#define SQL_REMEMBERED 4 /* statements that a request has asked for */

enum prepared_number {
	NUMBER_TOLD,
	NUMBER_AWAITED,
	NUMBER_BEHIND_HEADER, /* the header of its packet has been read alone */
	NUMBER_UNKNOWN,	      /* for good: several commands were sent before an answer, so any may be what comes next */
};

enum sql_running {
	RUNS_NOTHING,
	RUNS_BOOKKEEPING, /* what begins a transaction or ends one: what is sent behind it tells more */
	RUNS_STATEMENT,
};

/* Of a connection to an SQL server, the statement that is run there; of a request, what it has asked for. */
struct sql_asked {
	union {
		struct {
			__u64 hash; /* of its digest, 0: the kind tells all */
			union {
				__u64 prepared;	      /* MariaDB: of the digest of what was prepared last */
				struct {	      /* PostgreSQL */
					__u32 left;   /* bytes of a message that are still to be sent, or STREAM_LOST */
					__u32 header; /* what was sent of the next one's, where that is not whole yet */
				};
			};
			__u32 name;	  /* of the request that asks */
			__u8 kind;	  /* enum statement_kind */
			__u8 running;	  /* enum sql_running: it was sent and is not answered */
			__u8 owned;	  /* the request that asks is known */
			__u8 repeated;	  /* it has asked for this before */
			__u8 looks;	  /* at what was sent before the server was known */
			__u8 number;	  /* MariaDB: enum prepared_number, of what was prepared last */
			__u8 begun;	  /* PostgreSQL: bytes in `header` */
			__u8 place;	  /* in which of TEXT_PLACES the last messages lay */
			__u32 generation; /* of what is prepared: older names may have another meaning now */
		};
		__u64 asked[SQL_REMEMBERED];
	};
	__u8 server;	   /* enum sql_server; 0: not known */
	__u8 next;	   /* of `asked` that is forgotten */
	__u8 begun_answer; /* MariaDB: the beginning of the answer's first packet has been read alone */
};

/*
 * A socket that a thread of the target has sent or received on, or that waits where it accepts, by its address; and the
 * exchange it is in.
 */
struct connection {
	/* All that both sides of the host touch, who sends and who reads, in one line of memory. */
	__u64 cookie;	      /* of that socket: where the address has another one now, this one is gone */
	__u64 readable_at;    /* the first byte that was not read yet came in; 0: all is read */
	__u8 direction;	      /* enum direction */
	__u8 exchange;	      /* enum exchange */
	__u8 several;	      /* other threads had a part in the request */
	__u8 multiplexed;     /* requests are told apart by its own frames only (HTTP/2) */
	__u8 nameless;	      /* enum nameless */
	__u8 tls;	      /* enum tls */
	__u8 turned;	      /* the thread came from another connection that is still open */
	__u8 held;	      /* enum holder: the last of what was sent is kept back, small as it is */
	__u8 timed_out;	      /* a wait for the answer to this call has ended by time */
	__u8 awaited;	      /* somebody watches this socket, of datagrams, for what comes when the window ends */
	__u8 tells;	      /* the target has sent what nobody asked for */
	__u8 unsure;	      /* enum unsure */
	__u8 calls_noted;     /* of 16 calls one reads what the socket is like */
	__u8 one_way;	      /* it has sent nothing yet, though things came before */
	__u8 beginning_bytes; /* 0: the request came with more than its first bytes, or they do not count any more */
	__u8 parts_used;      /* so many of them; the others hold what earlier requests left there */
	__u64 object;	      /* of all that are told together: the peer, or the local port */
	__u64 begun;	      /* this request's first byte became readable; this call's first byte was sent */
	__u64 answered;	      /* first byte of the answer */
	__u64 last; /* last byte of the answer so far; of a call: when all of it was read, or it was connected; 0: neither */

	/* What a request or a call always needs. */
	union {
		__u64 asked;	  /* the call's last byte was sent */
		__u64 untaken_ns; /* of a request: the send buffer was full of its answer */
	};
	union {
		struct socket_id owner; /* of a call: the connection whose request it is made for; none: not known */
		struct {
			__u64 worked_on; /* of a request: a call for it was over, the last time; 0: none was */
			__s64 calls;	 /* made for it, and neither answered nor given up */
		};
	};
	__u64 bytes_in, bytes_out; /* since the last time they were added up */
	__u64 full_since; /* the send buffer is full of the answer; 0: not when something was sent, or refused, last */
	__u32 request;	  /* how many there were; of a call: which of its owner's */
	__u32 name;	  /* hash of the request's name, 0: it shows none */
	__u32 tid, tgid;  /* who took the request up */

	union {
		__u64 read_delay_ns; /* of the request, from readable until read, the first time */
		__u64 rest_ns;	     /* of an answered call: what was waited for since something was read last */
	};
	__u64 arrived; /* the request's last byte, as far as it was read before it was answered */
	union {
		__u64 left_at; /* of a request: the last read has left something unread; 0: nothing */
		__u32 written; /* of a call, by TCP: what had been written when that came in which is not read yet */
	};
	union {
		__u64 lay_ns; /* later pieces of the request, from readable until read */
		__u64 owed;   /* of a call: nobody has seen its answer yet; two CPUs may see it at once */
	};
	__u64 peers_ns;	       /* calls made for this request, from sent to answered, and what came later of answers */
	__u64 after_peers_ns;  /* the same, of what came since `last`: part of the request if more follows */
	__u64 after_peer;      /* of whom that came */
	__u64 held_ns;	       /* the end of the answer was kept back, part of `last` */
	__u64 resent_ns;       /* for so long at least such timeouts had kept the answer from the client since `last` */
	__u64 unread_error_ns; /* `unread` may tell so much of that to the wrong parts */

	__u64 unread_peers_ns;	 /* part of the delay: such a call was under way, and the reader idle */
	__u64 released_at;	 /* a call for the request before ended, the last time while this one was not read */
	__u64 room_at;		 /* the last segment came in that found it full: not before, it has had room */
	__u64 resent_at;	 /* a timeout sent a segment of the answer again, the last time */
	__u64 resent_sock;	 /* whose, of segments of this answer that were sent again */
	__u32 resends;		 /* how many of them */
	__u32 duplicates;	 /* that the client had said to have twice, before the first of them */
	__u64 paused_ns;	 /* before a late answer (UNSURE_LATE), or all together of UNSURE_PAUSES */
	struct socket_id next;	 /* behind this request in its thread's queue of those that a ring has brought */
	struct socket_id behind; /* the last connection on which it has asked behind a call that was not its own */
	__u64 behind_at;	 /* when; 0: never, or that was answered */
	union {
		__u64 timer_ns;	  /* who answered what another thread had read was in a wait that a timer ended */
		__u64 set_off_at; /* of a call: when a timer had ended its caller's wait; 0: something else did */
	};
	__u64 connecting;	  /* since when; 0: not */
	__u64 early_cookie;	  /* of a socket there that nobody has read from yet */
	__u64 early_at;		  /* since when there is something to read on that one */
	__u32 pending;		  /* look-ups without an answer yet */
	__u8 limits[SEND_LIMITS]; /* how often each kept the answer from being written on, up to 255 */
	__u8 corked;		  /* `held_ns` was HELD_BY_CORK */
	__u8 tls_13;		  /* the handshake ended as one of TLS 1.3 does: with what looks like data */
	__u8 settings_looks;	  /* reads left in which to look for the acknowledgement of HTTP/2's settings */
	__u8 pauses;		  /* in an answer, while its sender had nothing to do, up to 255 */
	__u8 fresh;		  /* all that was said before is known, and the target said nothing first */
	__u8 told;		  /* how much of `inside.unasked` was sent here, up to 2 */
	char beginning[3];
	__u32 call_name; /* of a call: hash of what is asked, 0: it shows no name */
	__u8 call_looks; /* in a row at calls that showed none */
	/* Of a call with a name: nothing of its answer has been read yet, but an interim one.  Of SQL: enum sql_running. */
	__u8 status_due;
	__u8 missed; /* the request has looked up what was not there: STATUS_MISS */
	__u8 filling;
	__u64 beyond; /* requests that its own have told beside themselves, since not all connections are followed */
	__u64 errors_beyond; /* likewise of those that were answered with errors */
	struct request_part {
		__u64 ns;
		__u64 after_ns; /* since the last byte of the answer so far: part of the request if more follows */
		__u64 object;	/* of wait.parked: the futex */
		__u32 account, padding;
	} parts[REQUEST_PARTS];
	struct unread_parts unread;
	struct sql_asked sql;
};
