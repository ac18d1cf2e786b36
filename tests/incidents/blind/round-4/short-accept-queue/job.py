"""Makes pages, each out of the answers to 16 calls that are made at once."""

import json
import os
import select
import selectors
import socket
import time
import zlib


def wait_for_start():
    """Say that all is prepared, and wait for the recorder: with two descriptors, as for events."""
    print('{"ready": true}', flush=True)
    nothing, other = os.pipe()
    poll = select.poll()
    for fd in (0, nothing):
        poll.register(fd, select.POLLIN)
    poll.poll()
    os.read(0, 1)
    os.close(nothing)
    os.close(other)
    return time.monotonic_ns()


def tell(began, **truth):
    print(json.dumps({"elapsed_ns": time.monotonic_ns() - began, **truth}), flush=True)


COUNT, CALLS = 4, 16
text = bytes(range(256)) * 4096
call_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    selector = selectors.DefaultSelector()
    for _ in range(CALLS):
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(("127.0.0.1", 8080))
        selector.register(connection, selectors.EVENT_WRITE)
    left = CALLS
    while left:
        for key, events in selector.select():
            if events & selectors.EVENT_WRITE:
                key.fileobj.sendall(b"get\n")
                selector.modify(key.fileobj, selectors.EVENT_READ)
            else:
                key.fileobj.recv(256)
                selector.unregister(key.fileobj)
                key.fileobj.close()
                left -= 1
    call_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, call_ns=call_ns)
