"""Marks messages as read in a mailbox: a file for all of them ("mbox"), or for each ("maildir")."""

import itertools
import mailbox
import os
import sys
import threading

from server import serve

MESSAGES = 4000
PATH = os.path.join(sys.argv[1], "mail")
HEAD = "From: a@example.org\nTo: b@example.org\nSubject: number"
BODY = "\n".join(["what there is to say about it, in a line of some length"] * 150)
lock = threading.Lock()
turn = itertools.cycle(range(MESSAGES))


def made() -> mailbox.Mailbox:
    """Return a mailbox with all messages."""
    single = os.environ["KIND"] == "mbox"
    box: mailbox.Mailbox = mailbox.mbox(PATH) if single else mailbox.Maildir(PATH)
    for number in range(MESSAGES):
        text = f"{HEAD} {number}\n\n{BODY}\n"
        box.add(mailbox.mboxMessage(text) if single else mailbox.MaildirMessage(text))
    box.flush()
    return box


box = made()
keys = list(box.keys())


def mark(path: str) -> None:
    """Mark the next message as read."""
    with lock:
        key = keys[next(turn)]
        message = box[key]
        message.add_flag("R" if isinstance(message, mailbox.mboxMessage) else "S")
        box[key] = message
        box.flush()


serve(int(os.environ["PORT"]), mark)
