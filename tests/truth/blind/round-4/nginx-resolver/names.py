"""PORT ANSWERS: a name server that says 127.0.0.1 for a second, or nothing."""

import socket
import sys

PORT, ANSWERS = int(sys.argv[1]), sys.argv[2] == "1"
up = socket.create_server(("127.0.0.1", PORT))  # for whoever waits until somebody listens
queries = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
queries.bind(("127.0.0.1", PORT))
while True:
    query, client = queries.recvfrom(512)
    if ANSWERS:
        end = query.index(b"\0", 12) + 5
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x7f\0\0\1"
        queries.sendto(query[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + query[12:end] + answer, client)
