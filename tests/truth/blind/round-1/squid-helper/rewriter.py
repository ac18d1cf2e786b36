"""PORT: asks the service there about each URL that Squid names."""

import socket
import sys

for _ in sys.stdin:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as service:
        service.sendall(b"GET /category HTTP/1.0\r\n\r\n")
        service.recv(1000)
    print("OK", flush=True)
