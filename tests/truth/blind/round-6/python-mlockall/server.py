"""PORT FLAGS: signs texts, in a process whose memory must never be paged out."""

import ctypes
import hashlib
import http.server
import mmap
import os
import sys

PORT, FLAGS = int(sys.argv[1]), int(sys.argv[2])
LONGEST = 64 << 20
libc = ctypes.CDLL(None, use_errno=True)
if libc.mlockall(FLAGS):
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Page(http.server.BaseHTTPRequestHandler):
    """A buffer for the longest text that is allowed, although most are short."""

    def do_POST(self):
        text = mmap.mmap(-1, LONGEST)
        text.write(self.rfile.read(int(self.headers["Content-Length"])))
        answer = hashlib.sha256(text[: text.tell()]).hexdigest().encode()
        text.close()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        """Say nothing on standard error."""


http.server.HTTPServer(("127.0.0.1", PORT), Page).serve_forever()
