"""PORT: takes what is sent, and says so 300 ms later."""

import http.server
import sys
import time


class Page(http.server.BaseHTTPRequestHandler):
    """One answer for one report."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.3)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Say nothing on standard error."""


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
