"""PORT COLLECTOR: answers every request in a thread of its own, and logs each to a collector, by HTTP."""

import http.server
import logging.handlers
import sys
import time

PORT, COLLECTOR = int(sys.argv[1]), sys.argv[2]
log = logging.getLogger("access")
log.setLevel(logging.INFO)
log.addHandler(logging.handlers.HTTPHandler(f"127.0.0.1:{COLLECTOR}", "/log"))


class Page(http.server.BaseHTTPRequestHandler):
    """A page of 2 ms."""

    def do_GET(self):
        time.sleep(0.002)
        log.info("served %s", self.path)
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *_):
        """Say nothing on standard error."""


class Server(http.server.ThreadingHTTPServer):
    """With room for a burst."""

    request_queue_size = 128


Server(("127.0.0.1", PORT), Page).serve_forever()
