"""PORT DISK: adds 12 new files to a repository for every request, as a service that keeps documents in git does."""

import http.server
import os
import pathlib
import subprocess
import sys

PORT, REPOSITORY = int(sys.argv[1]), pathlib.Path(sys.argv[2])
SETTINGS = ["-c", f"core.fsync={os.environ['FSYNC']}", "-c", "gc.auto=0"]


class Page(http.server.BaseHTTPRequestHandler):
    """One answer for one set of files."""

    def do_GET(self):
        for number in range(12):
            (REPOSITORY / f"document-{number}").write_bytes(os.urandom(2000))
        subprocess.run(["git", *SETTINGS, "-C", REPOSITORY, "add", "."], check=True)
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *_):
        """Say nothing on standard error."""


http.server.HTTPServer(("127.0.0.1", PORT), Page).serve_forever()
