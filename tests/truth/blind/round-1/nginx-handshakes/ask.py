import pathlib
import socket
import ssl
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import load

PORT, FRESH = int(sys.argv[1]), sys.argv[2] == "1"
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE


def client():
    kept = []

    def request():
        if not kept:
            kept.append(context.wrap_socket(socket.create_connection(("127.0.0.1", PORT))))
        kept[0].sendall(b"GET /index.html HTTP/1.1\r\nHost: x\r\n\r\n")
        data = b""
        while not data.endswith(b"\r\n\r\nok\n"):
            if not (more := kept[0].recv(4096)):
                raise OSError("closed")
            data += more
        if FRESH:
            kept.pop().close()

    return request


load.run(client, 60, int(sys.argv[3]), 8)
