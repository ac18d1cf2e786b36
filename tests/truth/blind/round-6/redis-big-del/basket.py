"""PORT COMMAND: fills a hash of 400,000 fields little by little, removes it at once by that command, and again."""

import socket
import sys
import time

PORT, COMMAND = int(sys.argv[1]), sys.argv[2]
while True:
    try:
        connection = socket.create_connection(("127.0.0.1", PORT))
        break
    except OSError:
        time.sleep(0.1)
answers = connection.makefile("rb")


def ask(line):
    connection.sendall(line.encode() + b"\r\n")
    answers.readline()


while True:
    for part in range(2000):
        ask("HSET basket " + " ".join(f"field-{part * 200 + n} some-value-{n}" for n in range(200)))
        time.sleep(0.0003)
    ask(f"{COMMAND} basket")
