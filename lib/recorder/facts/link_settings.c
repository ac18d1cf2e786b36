// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the drivers of network interfaces are set to, as ethtool -k, -c and -g have it: a NIC that neither joins
 * nor splits segments costs a CPU for each packet, one that waits before it interrupts delays each answer, and a short ring
 * drops packets.  No file tells of these.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
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

#define INTERFACES_MAX 256
#define LINE_MAX_BYTES 256

static const struct {
	uint32_t command;
	const char *name;
} switches[] = {
	{ ETHTOOL_GTSO, "tso" },
	{ ETHTOOL_GGSO, "gso" },
	{ ETHTOOL_GGRO, "gro" },
	{ ETHTOOL_GRXCSUM, "rx_checksums" },
	{ ETHTOOL_GTXCSUM, "tx_checksums" },
};

struct line {
	char text[LINE_MAX_BYTES];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line->text + line->length, sizeof(line->text) - line->length, format, arguments);
	va_end(arguments);
	if (length > 0 && line->length + length < sizeof(line->text))
		line->length += length;
}

/* False: the driver does not say. */
static bool ask(int fd, const char *interface, void *question)
{
	struct ifreq request = { .ifr_data = question };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	return ioctl(fd, SIOCETHTOOL, &request) == 0;
}

/* "INTERFACE tso 1 gso 1 ... rx_usecs N tx_usecs N rx_ring NOW MOST tx_ring NOW MOST"; what is not said is left out. */
static void tell(int fd, const char *interface, struct line *line)
{
	struct ethtool_coalesce coalescing = { .cmd = ETHTOOL_GCOALESCE };
	struct ethtool_ringparam rings = { .cmd = ETHTOOL_GRINGPARAM };

	add(line, "%s", interface);
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		struct ethtool_value value = { .cmd = switches[i].command };

		if (ask(fd, interface, &value))
			add(line, " %s %u", switches[i].name, value.data);
	}
	if (ask(fd, interface, &coalescing))
		add(line, " rx_usecs %u tx_usecs %u", coalescing.rx_coalesce_usecs, coalescing.tx_coalesce_usecs);
	if (ask(fd, interface, &rings))
		add(line, " rx_ring %u %u tx_ring %u %u", rings.rx_pending, rings.rx_max_pending, rings.tx_pending,
		    rings.tx_max_pending);
	add(line, "\n");
}

/* Interfaces of one network namespace.  Any socket of it answers for them; this one lists them, too. */
struct links {
	const struct wanted *wanted;
	struct fact_text *fact;
	int fd;
	size_t count;
};

static void tell_link(const struct nlmsghdr *answer, void *argument)
{
	const struct ifinfomsg *link = NLMSG_DATA(answer);
	struct links *into = argument;
	char interface[IFNAMSIZ] = "";
	struct line line = {};
	size_t bytes;
	const char *name = netlink_attribute(IFLA_RTA(link), IFLA_PAYLOAD(answer), IFLA_IFNAME, 1, &bytes);

	if (!name || into->fact->truncated)
		return;
	memcpy(interface, name, bytes < sizeof(interface) ? bytes : sizeof(interface) - 1);
	tell(into->fd, interface, &line);
	if (into->count++ == INTERFACES_MAX ||
	    !fact_add_line(into->fact, fact_limit(into->wanted), line.text, line.length))
		into->fact->truncated = true;
}

static int open_there(const char *path)
{
	const char *process = path + strlen(ETHTOOL_FACTS "/");
	int limit;
	bool own;

	if (strcmp(path, OWN_LINKS_FACT) == 0)
		return netlink_open(NETLINK_ROUTE);
	return namespaces_socket(process_speaker(atoi(process)), NETLINK_ROUTE, &own, &limit);
}

void fact_read_link_settings(const struct wanted *wanted, struct fact_text *fact)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg message;
	} question = {
		.header = { .nlmsg_len = sizeof(question), .nlmsg_type = RTM_GETLINK },
		.message = { .ifi_family = AF_UNSPEC },
	};
	_cleanup_close_ int fd = open_there(wanted->path);
	struct links into = { .wanted = wanted, .fact = fact, .fd = fd };
	const struct netlink_answer answer = { RTM_NEWLINK, sizeof(struct ifinfomsg), tell_link, &into };

	fact->error = -(fd < 0 ? fd : netlink_dump(fd, &question.header, &answer));
}
