// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the drivers of this host's network interfaces are set to, as ethtool -k, -c and -g have it: a NIC that neither joins
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
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include "base/cleanup.h"
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

void fact_read_link_settings(const struct wanted *wanted, struct fact_text *fact)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct if_nameindex *interfaces = fd < 0 ? NULL : if_nameindex();

	if (!interfaces) {
		fact->error = errno;
		return;
	}
	for (size_t i = 0; interfaces[i].if_name; i++) {
		struct line line = {};

		tell(fd, interfaces[i].if_name, &line);
		if (i == INTERFACES_MAX || !fact_add_line(fact, fact_limit(wanted), line.text, line.length)) {
			fact->truncated = true;
			break;
		}
	}
	if_freenameindex(interfaces);
}
