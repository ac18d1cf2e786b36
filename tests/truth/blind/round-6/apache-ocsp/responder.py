"""PORT MS: a responder of a certification authority that is overloaded, and says so after so many milliseconds."""

import http.server
import sys
import time

PORT, DELAY_S = int(sys.argv[1]), float(sys.argv[2]) / 1000


class Responder(http.server.BaseHTTPRequestHandler):
    """No answer but 503."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(DELAY_S)
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_):
        """Say nothing on standard error."""


http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Responder).serve_forever()
