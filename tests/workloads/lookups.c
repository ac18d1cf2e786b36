/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lookups - asks a name server of its own, in a network of its own, for one name again and again; it leaves every
 * so-manieth query without an answer, and the C library asks again a second later.
 */
#include "workload.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nss.h>
#include <resolv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define ANSWER_FLAGS 0x8180 /* an answer, recursion asked for and available */

/* The only one: address 127.0.0.1, by a pointer to the name in the query. */
static const unsigned char answer[] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1 };

/* Answers until it is ended, but for every so-manieth query. */
static void serve(int fd, long drop)
{
	unsigned char message[512 + sizeof(answer)];
	struct sockaddr_in client;
	socklen_t length;
	ssize_t size;

	for (long number = 1;; number++) {
		length = sizeof(client);
		size = CHECK(recvfrom(fd, message, 512, 0, (struct sockaddr *)&client, &length));
		if (number % drop == 0 || size < 12)
			continue;
		message[2] = ANSWER_FLAGS >> 8;
		message[3] = ANSWER_FLAGS & 0xff;
		message[7] = 1; /* how many answers */
		memcpy(message + size, answer, sizeof(answer));
		CHECK(sendto(fd, message, size + sizeof(answer), 0, (struct sockaddr *)&client, length));
	}
}

static void bring_up_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = CHECK(socket(AF_INET, SOCK_DGRAM, 0));

	CHECK(ioctl(fd, SIOCSIFFLAGS, &request));
	close(fd);
}

static struct sockaddr_in name_server(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(53),
				     .sin_addr.s_addr = htonl(0x7f000035) };
}

/* What /etc/resolv.conf would say: this server alone, asked again after a second, without suffixes to try. */
static void use_name_server(void)
{
	CHECK(res_init());
	_res.nscount = 1;
	_res.nsaddr_list[0] = name_server();
	_res.retrans = 1;
	_res.retry = 4;
	_res.options &= ~(RES_DNSRCH | RES_DEFNAMES);
	if (__nss_configure_lookup("hosts", "dns"))
		die("__nss_configure_lookup");
}

int main(int argc, char **argv)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	long count = 20, drop = 7;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("count", count, "how many look-ups"),
					NUMBER("drop", drop, "which query has no answer, and each so many after it")));
	struct sockaddr_in address = name_server();
	struct addrinfo *found;
	uint64_t spent_ns;
	int fd;

	CHECK(unshare(CLONE_NEWNET));
	bring_up_loopback();
	fd = CHECK(socket(AF_INET, SOCK_DGRAM, 0));
	CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	if (CHECK(fork()) == 0) {
		prctl(PR_SET_NAME, "name-server");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fd, drop);
	}
	close(fd);
	use_name_server();
	start_work(wait);
	for (long i = 0; i < count; i++) {
		if (getaddrinfo("perfdiag.test", NULL, &hints, &found))
			die("getaddrinfo");
		freeaddrinfo(found);
	}
	spent_ns = now_ns() - workload_started_ns;
	PRINT_TRUTH({ "spent_ns", spent_ns }, { "count", count }, { "lost", (count - 1) / (drop - 1) });
	return 0;
}
