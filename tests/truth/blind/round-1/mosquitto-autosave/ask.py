"""PORT fill MEBIBYTES, or PORT ask DURATION_MS: publishes with QoS 1."""

import pathlib
import socket
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import load

PORT = int(sys.argv[1])


def packet(kind, body):
    length, size = b"", len(body)
    while True:
        size, digit = divmod(size, 128)
        length += bytes([digit | (128 if size else 0)])
        if not size:
            return bytes([kind]) + length + body


def text(string):
    return struct.pack(">H", len(string)) + string.encode()


def take(connection, count):
    data = b""
    while len(data) < count:
        if not (more := connection.recv(count - len(data))):
            raise OSError("closed")
        data += more
    return data


def connected():
    connection = socket.create_connection(("127.0.0.1", PORT))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(packet(0x10, text("MQTT") + b"\x04\x02\x00\x00" + text("")))
    take(connection, 4)
    return connection


def publish(connection, topic, payload, retain=0):
    connection.sendall(packet(0x32 | retain, text(topic) + b"\x00\x01" + payload))
    take(connection, 4)


def client():
    connection = connected()
    return lambda: publish(connection, "sensors/1", b"21.5", retain=1)


if sys.argv[2] == "fill":
    filler = connected()
    for number in range(int(sys.argv[3])):
        publish(filler, f"state/{number}", b"s" * 1048576, retain=1)
else:
    load.run(client, 100, int(sys.argv[3]), 8)
