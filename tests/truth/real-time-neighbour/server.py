"""A thread for each connection, which answers each request at once."""

import socketserver
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\na page\n"


class Handler(socketserver.StreamRequestHandler):
    """Answers at each empty line: the end of a request's head."""

    def handle(self) -> None:
        for line in self.rfile:
            if line == b"\r\n":
                self.wfile.write(ANSWER)


class Server(socketserver.ThreadingTCPServer):
    """Its threads end with it."""

    allow_reuse_address = daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
