/* SPDX-License-Identifier: GPL-2.0-only */
/* FOLDER MS: lets whoever opens a file in a folder wait for so long, one after the other, and then allows it. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	struct fanotify_event_metadata events[1], *event = events;
	int group = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);

	if (count != 3 || group < 0 ||
	    fanotify_mark(group, FAN_MARK_ADD, FAN_OPEN_PERM | FAN_EVENT_ON_CHILD, AT_FDCWD, arguments[1])) {
		perror("scanner");
		return 1;
	}
	while (read(group, events, sizeof(events)) == sizeof(events)) {
		struct fanotify_response answer = { .fd = event->fd, .response = FAN_ALLOW };

		poll(NULL, 0, atoi(arguments[2]));
		if (write(group, &answer, sizeof(answer)) != sizeof(answer))
			perror("scanner");
		close(event->fd);
	}
	return 0;
}
