"""fill.py PORT yes|no: puts 3,000 values of 8 KB into memcached; waits until it has written them to its file, if so."""

import os
import socket
import sys
import time

connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
answers = connection.makefile("rb")


def statistic(name):
    connection.sendall(b"stats\r\n")
    found = 0
    while (line := answers.readline()) != b"END\r\n":
        words = line.split()
        if words[1] == name:
            found = int(words[2])
    return found


value = os.urandom(8000)
for number in range(1, 3001):
    connection.sendall(f"set item-{number} 0 0 {len(value)}\r\n".encode() + value + b"\r\n")
    answers.readline()
while sys.argv[2] == "yes" and statistic(b"extstore_objects_used") < 2000:
    time.sleep(0.1)
