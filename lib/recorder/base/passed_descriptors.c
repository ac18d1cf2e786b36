// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "base/passed_descriptors.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int send_with_descriptors(int to, const void *bytes, size_t length, const int *descriptors, int count)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))] = {};
	struct iovec part = { (void *)bytes, length };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (count < 0 || count > DESCRIPTORS_MAX)
		return -EINVAL;
	if (count) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		*CMSG_FIRSTHDR(&message) = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
							     .cmsg_type = SCM_RIGHTS,
							     .cmsg_len = CMSG_LEN(count * sizeof(int)) };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), descriptors, count * sizeof(int));
	}
	sent = sendmsg(to, &message, MSG_NOSIGNAL);
	if (sent < 0)
		return -errno;
	return (size_t)sent == length ? 0 : -EMSGSIZE;
}

ssize_t receive_with_descriptors(int from, void *bytes, size_t size, int *descriptors, int most)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
	struct iovec part = { bytes, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control };
	struct cmsghdr *header;
	ssize_t length;

	if (most < 0 || most > DESCRIPTORS_MAX)
		return -EINVAL;
	memset(descriptors, -1, most * sizeof(int));
	do {
		message.msg_controllen = CMSG_LEN(most * sizeof(int)); /* the kernel closes those that do not fit */
		length = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
	} while (length < 0 && errno == EINTR);
	if (length < 0)
		return -errno;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(descriptors, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	return length;
}
