"""Makes checksums of files: with the kernel's help where it has some, else on its own."""

import hashlib
import json
import os
import select
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


COUNT = 60
text = bytes(range(256)) * 512


def checksum(data):
    """Of a file; whether the kernel has made it."""
    try:
        with socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET) as algorithm:
            algorithm.bind(("hash", "sha256"))
            with algorithm.accept()[0] as operation:
                operation.sendall(data)
                operation.recv(64)
                return True
    except OSError:
        hashlib.sha256(data).digest()
        return False


helped = checksum_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    helped += checksum(text)
    checksum_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, helped=helped, checksum_ns=checksum_ns)
