import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import load

QUESTION = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x04shop\x04test\x00\x00\x01\x00\x01"


def client():
    connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    connection.connect(("127.0.0.1", int(sys.argv[1])))
    connection.settimeout(20)

    def request():
        connection.send(QUESTION)
        connection.recv(1000)

    return request


load.run(client, 60, int(sys.argv[2]), 16)
