/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring_server - answers HTTP/1.1 requests that it takes and answers by a ring of io_uring, and sleeps over each; with
 * --poller 1 a thread of the kernel receives and sends for it (SQPOLL).  Child processes ask, each one after the other.
 */
#include "workload.h"
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define REQUEST "GET /ring HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define MOST_CLIENTS 8

struct client {
	int fd, go;
	bool sending; /* what is under way there; else receiving */
	int moved;    /* bytes, by what was under way last */
	char request[512];
};

struct ring {
	int fd;
	bool polled;
	unsigned int *tail, *flags, *array, *taken, *completed;
	unsigned int mask, completed_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static void set_up(struct ring *ring, bool polled)
{
	struct io_uring_params params = { .flags = polled ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 2000 };
	size_t size, cqes_size;
	char *map;

	ring->polled = polled;
	ring->fd = CHECK((int)syscall(SYS_io_uring_setup, MOST_CLIENTS, &params));
	size = params.sq_off.array + params.sq_entries * sizeof(unsigned int);
	cqes_size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	if (cqes_size > size)
		size = cqes_size;
	/* Both rings are in one mapping since Linux 5.4. */
	map = CHECK(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING));
	ring->sqes = CHECK(mmap(NULL, params.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
				MAP_SHARED, ring->fd, IORING_OFF_SQES));
	ring->tail = (void *)(map + params.sq_off.tail);
	ring->flags = (void *)(map + params.sq_off.flags);
	ring->array = (void *)(map + params.sq_off.array);
	ring->mask = *(unsigned int *)(map + params.sq_off.ring_mask);
	ring->taken = (void *)(map + params.cq_off.head);
	ring->completed = (void *)(map + params.cq_off.tail);
	ring->completed_mask = *(unsigned int *)(map + params.cq_off.ring_mask);
	ring->cqes = (void *)(map + params.cq_off.cqes);
}

/* Returns the client whose operation is over. */
static struct client *complete(struct ring *ring, unsigned int submit)
{
	unsigned int flags = IORING_ENTER_GETEVENTS;
	struct io_uring_cqe *cqe;
	struct client *client;

	/* A poller that has gone to sleep is woken. */
	if (ring->polled && __atomic_load_n(ring->flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
		flags |= IORING_ENTER_SQ_WAKEUP;
	do {
		CHECK(syscall(SYS_io_uring_enter, ring->fd, submit, 1, flags, NULL, 0));
		submit = 0;
	} while (__atomic_load_n(ring->completed, __ATOMIC_ACQUIRE) == *ring->taken);
	cqe = &ring->cqes[*ring->taken & ring->completed_mask];
	client = (struct client *)(uintptr_t)cqe->user_data;
	client->moved = cqe->res;
	errno = cqe->res < 0 ? -cqe->res : 0;
	if (errno)
		die("io_uring");
	__atomic_store_n(ring->taken, *ring->taken + 1, __ATOMIC_RELEASE);
	return client;
}

static void begin(struct ring *ring, struct client *client, bool send)
{
	unsigned int place = *ring->tail & ring->mask;

	client->sending = send;
	ring->sqes[place] = (struct io_uring_sqe){ .opcode = send ? IORING_OP_SEND : IORING_OP_RECV,
						   .fd = client->fd,
						   .addr = (uintptr_t)(send ? ANSWER : client->request),
						   .len = send ? strlen(ANSWER) : sizeof(client->request),
						   .user_data = (uintptr_t)client };
	ring->array[place] = place;
	__atomic_store_n(ring->tail, *ring->tail + 1, __ATOMIC_SEQ_CST);
}

static int ask(const struct sockaddr_in *address, int go, long count)
{
	int fd = CHECK(socket(AF_INET, SOCK_STREAM, 0));
	char answer[512];

	CHECK(connect(fd, (const struct sockaddr *)address, sizeof(*address)));
	if (read(go, answer, 1) != 1) /* the connection stays until then, and nothing is asked */
		return 1;
	for (long i = 0; i < count; i++)
		if (write(fd, REQUEST, strlen(REQUEST)) <= 0 || read(fd, answer, sizeof(answer)) <= 0)
			return 1;
	return 0;
}

static void listen_at(struct sockaddr_in *address, int listener)
{
	socklen_t length = sizeof(*address);

	CHECK(bind(listener, (struct sockaddr *)address, length));
	CHECK(listen(listener, MOST_CLIENTS));
	CHECK(getsockname(listener, (struct sockaddr *)address, &length));
}

/* A child that asks when it is told to. */
static void start_client(struct client *client, const struct sockaddr_in *address, int listener, long count)
{
	int go[2];

	CHECK(pipe(go));
	if (!CHECK(fork())) {
		close(go[1]);
		close(listener);
		_exit(ask(address, go[0], count));
	}
	close(go[0]);
	client->go = go[1];
	client->fd = CHECK(accept(listener, NULL, NULL));
}

/* Returns for how long it slept, by its own clock. */
static uint64_t serve(struct ring *ring, struct client *clients, long count, uint64_t each_ns)
{
	unsigned int begun = 0;
	uint64_t slept_ns = 0, since;
	struct client *client;

	for (client = clients; client->fd; client++, begun++) {
		begin(ring, client, false);
		if (write(client->go, "", 1) != 1)
			die("write");
	}
	while (count) {
		client = complete(ring, ring->polled ? 0 : begun);
		begun = client->moved != 0; /* it has asked for the last time */
		if (!begun)
			continue;
		if (client->sending) {
			count--;
		} else {
			since = now_ns();
			sleep_ns(each_ns);
			slept_ns += now_ns() - since;
		}
		begin(ring, client, !client->sending);
	}
	return slept_ns;
}

int main(int argc, char **argv)
{
	long count = 61, clients_count = 1, sleep_us = 5000, polled = 1;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("count", count, "how many requests of each client"),
					NUMBER("clients", clients_count, "how many ask at the same time, up to 8"),
					NUMBER("sleep-us", sleep_us, "how long it sleeps over each"),
					NUMBER("poller", polled, "1: the kernel's thread receives and sends")));
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct client clients[MOST_CLIENTS + 1] = {};
	int listener = CHECK(socket(AF_INET, SOCK_STREAM, 0));
	struct ring ring;
	uint64_t slept_ns;

	listen_at(&address, listener);
	for (long i = 0; i < clients_count && i < MOST_CLIENTS; i++)
		start_client(&clients[i], &address, listener, count);
	set_up(&ring, polled);
	start_work(wait);
	slept_ns = serve(&ring, clients, count * clients_count, sleep_us * 1000);
	PRINT_TRUTH({ "count", count * clients_count }, { "slept_ns", slept_ns });
	return 0;
}
