"""PORT BYTES: reads what is uploaded at once, with a receive buffer of so many bytes; 0: as the system likes."""

import http.server
import socket
import sys

PORT, BUFFER = int(sys.argv[1]), int(sys.argv[2])


class Store(http.server.BaseHTTPRequestHandler):
    """Keeps nothing."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *_):
        """Say nothing on standard error."""


class Server(http.server.ThreadingHTTPServer):
    """Sets the buffer before it listens, so that all connections have it."""

    request_queue_size = 128

    def server_bind(self):
        if BUFFER:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        super().server_bind()


Server(("0.0.0.0", PORT), Store).serve_forever()
