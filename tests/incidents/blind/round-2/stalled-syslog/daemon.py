"""Reads messages from a socket, and takes so many milliseconds to forward each."""

import os
import socket
import sys
import time

messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
messages.bind(sys.argv[1])
print(os.getpid(), flush=True)
while True:
    messages.recv(4096)
    if sys.argv[2] != "0":
        time.sleep(int(sys.argv[2]) / 1000)
