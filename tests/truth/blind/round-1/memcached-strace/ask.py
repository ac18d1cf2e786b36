"""PORT DURATION_MS: fifty pages a second, each makes thirty lookups."""

import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import load


def client():
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    answers = connection.makefile("rb")

    def request():
        for number in range(30):
            connection.sendall(b"get user:%d\r\n" % number)
            while answers.readline() != b"END\r\n":
                pass

    return request


load.run(client, 50, int(sys.argv[2]), 4)
