"""service.py PORT INTERVAL_US: renders nested templates, and profiles itself."""

import collections
import signal
import sys
import traceback
from http.server import BaseHTTPRequestHandler, HTTPServer

seen = collections.Counter()
interval_s = float(sys.argv[2]) / 1e6


def sample(_, frame):
    seen["".join(traceback.format_stack(frame))] += 1
    signal.setitimer(signal.ITIMER_REAL, interval_s)


def render(depth):
    words = [str(number) for number in range(40)]
    return " ".join(words) + (render(depth - 1) if depth else "")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        page = render(600)[:100].encode()
        answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page)
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


sys.setrecursionlimit(5000)
signal.signal(signal.SIGALRM, sample)
signal.setitimer(signal.ITIMER_REAL, interval_s)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
