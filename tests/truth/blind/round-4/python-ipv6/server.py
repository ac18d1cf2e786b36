"""PORT UPSTREAM: passes every request on to api.internal:UPSTREAM, whose addresses it tries in order."""

import http.server
import sys
import urllib.request

PORT, UPSTREAM = int(sys.argv[1]), sys.argv[2]


class Page(http.server.BaseHTTPRequestHandler):
    """What api.internal says."""

    def do_GET(self):
        with urllib.request.urlopen(f"http://api.internal:{UPSTREAM}/", timeout=1) as answer:
            body = answer.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing on standard error."""


class Server(http.server.ThreadingHTTPServer):
    """With room for a burst."""

    request_queue_size = 128


Server(("127.0.0.1", PORT), Page).serve_forever()
