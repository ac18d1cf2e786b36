"""service.py PORT one|threads: a page, by the standard library's server: one connection at a time, or a thread each."""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer


class Page(BaseHTTPRequestHandler):
    wbufsize = -1

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"page\n")

    def log_message(self, format, *arguments):
        pass


kind = HTTPServer if sys.argv[2] == "one" else ThreadingHTTPServer
kind.request_queue_size = 64
kind(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
