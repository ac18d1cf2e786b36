"""PORT REFUSALS: says so many times that it is not available before it answers."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    asked = 0

    def do_GET(self):
        Service.asked += 1
        available = Service.asked % (int(sys.argv[2]) + 1) == 0
        self.send_response(200 if available else 503)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
