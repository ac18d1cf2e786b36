"""PORT BACKEND: asks a backend for each request over a new connection, and again, later and later, if it gets none."""

import http.client
import http.server
import sys
import time

PORT, BACKEND = int(sys.argv[1]), int(sys.argv[2])


def fetch():
    for attempt in range(12):
        connection = http.client.HTTPConnection("127.0.0.1", BACKEND, timeout=20)
        try:
            connection.request("GET", "/index.html")
            return connection.getresponse().read()
        except OSError:
            time.sleep(min(0.8, 0.1 * 2**attempt))
        finally:
            connection.close()
    return b"nothing\n"


class Page(http.server.BaseHTTPRequestHandler):
    """One answer for one answer of the backend."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and text in one segment

    def do_GET(self):
        text = fetch()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        """Say nothing on standard error."""


class Server(http.server.ThreadingHTTPServer):
    """A thread for each connection."""

    request_queue_size = 100


Server(("127.0.0.1", PORT), Page).serve_forever()
