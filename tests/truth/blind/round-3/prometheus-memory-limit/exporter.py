"""PORT COUNT: so many series for who scrapes them."""

import http.server
import sys

PAGE = "".join(f'numbers{{number="{i}",place="rack-{i % 97}"}} {i}\n' for i in range(int(sys.argv[2]))).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
