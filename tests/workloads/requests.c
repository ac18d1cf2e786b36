/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * requests - HTTP/1.1 requests at a constant rate, whatever the server does: an open loop.  The time of a request runs
 * from the instant it was due, so that a slow server is not asked less and its pauses are not forgotten; that of its
 * service from the instant it was sent, which is what the server can see.  With --fresh 1 each has its own connection,
 * which stays open with --keep 1, as that of a browser does, until the server closes it.
 */
#include "workload.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { LONGEST_HEADER = 4096, MOST_EVENTS = 64, UNTIL_CLOSED = -1 };

struct connection {
	int fd;			    /* -1: none */
	bool busy, in_body, closes; /* after this answer */
	long number;
	uint64_t due_ns, sent_ns;
	long left; /* bytes of the body */
	size_t length;
	char header[LONGEST_HEADER + 1];
};

static long port, rate = 100, duration_ms = 5000, warm_ms = 500, connections = 16, fresh, keep, every,
		  patience_ms = 2000;
static const char *path = "/", *other_path = "/other", *log_path;
static struct connection *all;
static uint64_t *due_ns, *waited_ns, *served_ns, begin_ns;
static volatile long total; /* fewer, when it is interrupted */
static long asked, answered, errors, counted, most_busy, busy;
static int epoll;

static uint64_t due(long number)
{
	return begin_ns + number * SECOND / rate;
}

static void disconnect(struct connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
}

/* Leaves the connection to the server, which will close it, and to an entry of its own. */
static void leave_open(struct connection *connection)
{
	struct connection *left = malloc(sizeof(*left));
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = left };

	*left = (struct connection){ .fd = connection->fd };
	connection->fd = -1;
	CHECK(epoll_ctl(epoll, EPOLL_CTL_MOD, left->fd, &event));
}

static bool connect_to_server(struct connection *connection)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };
	int on = 1, fd = CHECK(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));

	CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
	connection->fd = fd;
	/* With --fresh, the request is written as soon as the connection stands: until then EPOLLOUT is waited for. */
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno != EINPROGRESS) {
		disconnect(connection);
		return false;
	}
	event.events |= EPOLLOUT | EPOLLET;
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	return true;
}

static void finish(struct connection *connection, bool right)
{
	uint64_t now = now_ns();

	connection->busy = false;
	busy--;
	answered++;
	errors += !right;
	if (connection->due_ns >= begin_ns + warm_ms * MILLISECOND) {
		due_ns[counted] = connection->due_ns;
		waited_ns[counted] = now - connection->due_ns;
		served_ns[counted++] = now - connection->sent_ns;
	}
	if (keep && !connection->closes && right)
		leave_open(connection);
	else if (fresh || connection->closes || !right)
		disconnect(connection);
}

static void send_request(struct connection *connection)
{
	char text[1024];
	bool other = every && connection->number % every == every - 1;
	int length = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: %s\r\n\r\n",
			      other ? other_path : path, fresh && !keep ? "close" : "keep-alive");

	connection->sent_ns = now_ns();
	if (send(connection->fd, text, length, MSG_NOSIGNAL) == length)
		return;
	if (errno != EAGAIN && errno != ENOTCONN)
		finish(connection, false);
	else
		connection->sent_ns = 0; /* when it can be written to */
}

static void ask(struct connection *connection)
{
	*connection = (struct connection){ .fd = connection->fd, .busy = true, .number = asked, .due_ns = due(asked) };
	asked++;
	busy++;
	if (busy > most_busy)
		most_busy = busy;
	if (connection->fd < 0 && !connect_to_server(connection)) {
		connection->sent_ns = now_ns();
		finish(connection, false);
		return;
	}
	send_request(connection);
}

/* Reads what the header says of the body. */
static bool read_header(struct connection *connection)
{
	char *end = strstr(connection->header, "\r\n\r\n"), *field;

	if (!end)
		return connection->length < LONGEST_HEADER;
	field = strcasestr(connection->header, "\r\ncontent-length:");
	connection->in_body = true;
	connection->closes = strcasestr(connection->header, "\r\nconnection: close") ||
			     !strncmp(connection->header, "HTTP/1.0", 8);
	connection->left = UNTIL_CLOSED;
	if (field && field < end)
		connection->left = atol(field + strlen("\r\ncontent-length:")) -
				   (connection->header + connection->length - (end + 4));
	return !strncmp(connection->header, "HTTP/1.", 7) && !strncmp(connection->header + 8, " 200", 4);
}

static void receive(struct connection *connection)
{
	char body[65536];
	bool header = !connection->in_body;
	ssize_t got = header ? read(connection->fd, connection->header + connection->length,
				    LONGEST_HEADER - connection->length)
			     : read(connection->fd, body, sizeof(body));

	if (got < 0 && errno == EAGAIN)
		return;
	if (!connection->busy) /* the server has closed an idle connection */
		return disconnect(connection);
	if (got <= 0)
		return finish(connection, connection->in_body && connection->left == UNTIL_CLOSED && !got);
	if (header) {
		connection->length += got;
		connection->header[connection->length] = 0;
		if (!read_header(connection))
			return finish(connection, false);
	} else if (connection->left != UNTIL_CLOSED) {
		connection->left -= got;
	}
	if (connection->in_body && !connection->left)
		return finish(connection, true);
	receive(connection); /* edge-triggered: to the end */
}

static void handle(struct connection *connection, uint32_t events)
{
	if (connection->busy && !connection->sent_ns && events & EPOLLOUT)
		send_request(connection);
	if (connection->fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		receive(connection);
}

/* Asks as much as is due and as there are connections for, each of them in its turn. */
static void ask_due(uint64_t now)
{
	for (long i = 0, first = asked; i < connections && asked < total && due(asked) <= now; i++) {
		struct connection *connection = &all[(first + i) % connections];

		if (!connection->busy)
			ask(connection);
	}
}

static void wait_for_events(uint64_t until_ns)
{
	struct epoll_event events[MOST_EVENTS];
	uint64_t now = now_ns(), left = until_ns > now ? until_ns - now : 0;
	struct timespec timeout = { left / SECOND, left % SECOND };
	int count = epoll_pwait2(epoll, events, MOST_EVENTS, &timeout, NULL);

	for (int i = 0; i < count; i++)
		handle(events[i].data.ptr, events[i].events);
}

/* What every request took, with the instant it was due by the clock of the wall: a recording can be laid beside it. */
static void write_log(void)
{
	FILE *file = fopen(log_path, "w");
	struct timespec wall;
	uint64_t ahead_ns;

	if (!file)
		die(log_path);
	clock_gettime(CLOCK_REALTIME, &wall);
	ahead_ns = wall.tv_sec * SECOND + wall.tv_nsec - now_ns();
	for (long i = 0; i < counted; i++)
		fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", due_ns[i] + ahead_ns, waited_ns[i],
			served_ns[i]);
	fclose(file);
}

/* What is due by now is still asked. */
static void stop(int number)
{
	long due_by_now = (now_ns() - begin_ns) * rate / SECOND + 1;

	(void)number;
	if (due_by_now < total)
		total = due_by_now;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static uint64_t percentile(const uint64_t *sorted, long percent)
{
	return counted ? sorted[(counted - 1) * percent / 100] : 0;
}

int main(int argc, char **argv)
{
	bool wait = parse_options(
		argc, argv,
		KNOBS(NUMBER("port", port, "of the server, on 127.0.0.1"), NUMBER("rate", rate, "requests per second"),
		      NUMBER("duration-ms", duration_ms, "how long"),
		      NUMBER("warm-ms", warm_ms, "of it at first, whose requests are not counted"),
		      NUMBER("connections", connections, "at most"),
		      NUMBER("fresh", fresh, "1: a connection for each request"),
		      NUMBER("keep", keep, "1: which is left open"), TEXT("path", path, "asked for"),
		      NUMBER("every", every, "the so-manyth request is for the other path; 0: none is"),
		      TEXT("other-path", other_path, "asked for by these"),
		      TEXT("log", log_path, "where each of them is noted"),
		      NUMBER("patience-ms", patience_ms, "for answers, when all is asked")));
	uint64_t end_ns;
	long unanswered, wrong;

	start_work(wait);
	total = rate * duration_ms / 1000;
	all = calloc(connections, sizeof(*all));
	due_ns = calloc(total, sizeof(*due_ns));
	waited_ns = calloc(total, sizeof(*waited_ns));
	served_ns = calloc(total, sizeof(*served_ns));
	epoll = CHECK(epoll_create1(EPOLL_CLOEXEC));
	for (long i = 0; i < connections; i++)
		all[i].fd = -1;
	begin_ns = now_ns();
	signal(SIGINT, stop);
	while (answered < total && now_ns() < (end_ns = due(total) + patience_ms * MILLISECOND)) {
		bool can_ask;

		ask_due(now_ns());
		can_ask = asked < total && busy < connections;
		if (can_ask && due(asked) <= now_ns())
			continue;
		wait_for_events(can_ask ? due(asked) : end_ns);
	}
	unanswered = total - answered;
	wrong = errors;
	for (long i = 0; i < connections; i++) { /* at least so long */
		if (all[i].busy)
			finish(&all[i], false);
	}
	while (asked < total) {
		due_ns[counted] = due(asked);
		waited_ns[counted] = now_ns() - due(asked++);
		served_ns[counted++] = 0;
	}
	if (log_path)
		write_log();
	qsort(waited_ns, counted, sizeof(*waited_ns), compare);
	qsort(served_ns, counted, sizeof(*served_ns), compare);
	PRINT_TRUTH({ "requests", counted }, { "errors", wrong }, { "unanswered", unanswered }, { "per_second", rate },
		    { "most_busy", most_busy }, { "p50_ns", percentile(waited_ns, 50) },
		    { "p99_ns", percentile(waited_ns, 99) }, { "max_ns", percentile(waited_ns, 100) },
		    { "served_p50_ns", percentile(served_ns, 50) }, { "served_p99_ns", percentile(served_ns, 99) });
	return 0;
}
