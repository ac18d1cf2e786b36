// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queues in which packets wait to leave through the interfaces of a process's network namespace: queueing disciplines,
 * and the classes of htb, where that keeps its rates.  What lets less out than the interface could, delays or drops is a
 * setting of this host, however much it looks like a slow network.  No file tells of them; rtnetlink(7) does, as to tc -s.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_addr.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include "base/cleanup.h"
#include "base/namespaces.h"
#include "base/netlink.h"
#include "base/process_files.h"
#include "facts/internal.h"

#define QUEUES_MAX 512	  /* lines: one for each queue of an interface, of which a server has some dozens */
#define INTERFACES_MAX 64 /* whose classes are asked for */

struct queues {
	struct fact_text *fact;
	size_t limit, count;
	int fd;
	int classful[INTERFACES_MAX];
	size_t classful_count;
};

struct nested {
	const struct rtattr *attributes;
	int length;
};

/* 0: there is none. */
static uint64_t number(struct nested in, int type)
{
	uint64_t value = 0;
	size_t bytes;
	const void *found = netlink_attribute(in.attributes, in.length, type, sizeof(value), &bytes);

	if (found)
		memcpy(&value, found, sizeof(value));
	return value;
}

/* The rate of a struct tc_ratespec at an offset of an attribute. */
static uint64_t old_rate(struct nested in, int type, size_t offset)
{
	struct tc_ratespec rate = {};
	size_t bytes;
	const char *found = netlink_attribute(in.attributes, in.length, type, offset + sizeof(rate), &bytes);

	if (found)
		memcpy(&rate, found + offset, sizeof(rate));
	return rate.rate;
}

/* Bytes a second; 0: as many as the interface can. */
static uint64_t rate_of(const char *kind, struct nested in)
{
	if (strcmp(kind, "tbf") == 0)
		return number(in, TCA_TBF_RATE64) ?: old_rate(in, TCA_TBF_PARMS, offsetof(struct tc_tbf_qopt, rate));
	if (strcmp(kind, "htb") == 0)
		return number(in, TCA_HTB_CEIL64) ?: old_rate(in, TCA_HTB_PARMS, offsetof(struct tc_htb_opt, ceil));
	if (strcmp(kind, "cake") == 0)
		return number(in, TCA_CAKE_BASE_RATE64);
	if (strcmp(kind, "netem") == 0) {
		struct tc_netem_rate rate = {};
		size_t bytes;
		const void *found;

		if (number(in, TCA_NETEM_RATE64))
			return number(in, TCA_NETEM_RATE64);
		found = netlink_attribute(in.attributes, in.length, TCA_NETEM_RATE, sizeof(rate), &bytes);
		if (found)
			memcpy(&rate, found, sizeof(rate));
		return rate.rate;
	}
	return 0;
}

/* The options of netem begin with a structure. */
static struct nested options_of(const char *kind, struct nested message)
{
	size_t bytes, before = strcmp(kind, "netem") ? 0 : NLMSG_ALIGN(sizeof(struct tc_netem_qopt));
	const char *found = netlink_attribute(message.attributes, message.length, TCA_OPTIONS, before, &bytes);

	return (struct nested){ found ? (const void *)(found + before) : NULL, found ? bytes - before : 0 };
}

static void add_line(struct queues *into, const char *line, int length)
{
	if (into->count == QUEUES_MAX)
		into->fact->truncated = true;
	else if (fact_add_line(into->fact, into->limit, line, length))
		into->count++;
}

/* "INTERFACE KIND HANDLE PARENT RATE DELAY BYTES PACKETS DROPS OVERLIMITS BACKLOG": bytes a second, nanoseconds, bytes */
static void add_queue(const struct nlmsghdr *answer, void *argument)
{
	const struct tcmsg *message = NLMSG_DATA(answer);
	struct nested all = { (const void *)(message + 1),
			      (int)answer->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*message)) };
	struct queues *into = argument;
	struct ifreq interface = { .ifr_ifindex = message->tcm_ifindex };
	struct tc_stats stats = {};
	struct nested options;
	char kind[16] = "", line[256];
	size_t bytes;
	const void *found = netlink_attribute(all.attributes, all.length, TCA_KIND, 1, &bytes);

	if (!found || bytes > sizeof(kind))
		return;
	memcpy(kind, found, bytes - 1);
	if (strcmp(kind, "noqueue") == 0 || ioctl(into->fd, SIOCGIFNAME, &interface))
		return;
	if (strcmp(kind, "htb") == 0 && answer->nlmsg_type == RTM_NEWQDISC && into->classful_count < INTERFACES_MAX)
		into->classful[into->classful_count++] = message->tcm_ifindex;
	/* Its end has grown with time. */
	found = netlink_attribute(all.attributes, all.length, TCA_STATS, offsetof(struct tc_stats, backlog), &bytes);
	if (found)
		memcpy(&stats, found, bytes < sizeof(stats) ? bytes : sizeof(stats));
	options = options_of(kind, all);
	add_line(into, line,
		 snprintf(line, sizeof(line), "%s %s %x:%x %x:%x %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %u %u\n",
			  interface.ifr_name, kind, message->tcm_handle >> 16, message->tcm_handle & 0xffff,
			  message->tcm_parent >> 16, message->tcm_parent & 0xffff, rate_of(kind, options),
			  strcmp(kind, "netem") ? 0 : number(options, TCA_NETEM_LATENCY64), (uint64_t)stats.bytes,
			  stats.packets, stats.drops, stats.overlimits, stats.backlog));
}

/* "INTERFACE address ADDRESS" */
static void add_address(const struct nlmsghdr *answer, void *argument)
{
	const struct ifaddrmsg *message = NLMSG_DATA(answer);
	int length = (int)answer->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*message));
	const struct rtattr *attributes = (const void *)(message + 1);
	size_t bytes, size = message->ifa_family == AF_INET ? 4 : 16;
	struct ifreq interface = { .ifr_ifindex = message->ifa_index };
	struct queues *into = argument;
	char address[INET6_ADDRSTRLEN], line[128];
	/* Of a point-to-point interface the other attribute is the far end's. */
	const void *found = netlink_attribute(attributes, length, IFA_LOCAL, size, &bytes)
				    ?: netlink_attribute(attributes, length, IFA_ADDRESS, size, &bytes);

	if (!found || !inet_ntop(message->ifa_family, found, address, sizeof(address)) ||
	    ioctl(into->fd, SIOCGIFNAME, &interface))
		return;
	add_line(into, line, snprintf(line, sizeof(line), "%s address %s\n", interface.ifr_name, address));
}

static int dump_queues(struct queues *into, uint16_t question_type, uint16_t type, int interface)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg message;
	} question = {
		.header = { .nlmsg_len = sizeof(question), .nlmsg_type = question_type },
		.message = { .tcm_family = AF_UNSPEC, .tcm_ifindex = interface },
	};
	const struct netlink_answer answer = { type, sizeof(struct tcmsg), add_queue, into };

	return netlink_dump(into->fd, &question.header, &answer);
}

static int dump_addresses(struct queues *into)
{
	struct {
		struct nlmsghdr header;
		struct ifaddrmsg message;
	} question = {
		.header = { .nlmsg_len = sizeof(question), .nlmsg_type = RTM_GETADDR },
		.message = { .ifa_family = AF_UNSPEC },
	};
	const struct netlink_answer answer = { RTM_NEWADDR, sizeof(struct ifaddrmsg), add_address, into };

	return netlink_dump(into->fd, &question.header, &answer);
}

static int dump(struct queues *into)
{
	int err = dump_queues(into, RTM_GETQDISC, RTM_NEWQDISC, 0);

	for (size_t i = 0; i < into->classful_count && !err; i++)
		err = dump_queues(into, RTM_GETTCLASS, RTM_NEWTCLASS, into->classful[i]);
	/* Without a queue nobody asks whose it is. */
	return err || !into->count ? err : dump_addresses(into);
}

void fact_read_traffic_control(const struct wanted *wanted, struct fact_text *fact)
{
	struct queues into = {
		.fact = fact,
		.limit = fact_limit(wanted),
	};
	pid_t pid = process_speaker(atoi(wanted->path + strlen(TRAFFIC_CONTROL_FACT)));
	bool own;
	int limit, err;
	_cleanup_close_ int fd = namespaces_socket(pid, NETLINK_ROUTE, &own, &limit);

	into.fd = fd;
	err = fd < 0 ? fd : dump(&into);
	fact->error = -err;
}
