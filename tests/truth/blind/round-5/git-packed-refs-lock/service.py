"""PORT REPOSITORY: makes a branch and deletes it for each request, as services do that test merges."""

import http.server
import itertools
import subprocess
import sys

PORT, GIT = int(sys.argv[1]), ["git", "-C", sys.argv[2], "branch", "-q"]
NUMBERS = itertools.count()


class Page(http.server.BaseHTTPRequestHandler):
    """One answer for one branch."""

    def do_GET(self):
        name = f"merge-{next(NUMBERS)}"
        subprocess.run([*GIT, name, "main"], check=True)
        subprocess.run([*GIT, "-D", name], check=True)
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *_):
        """Say nothing on standard error."""


http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Page).serve_forever()
