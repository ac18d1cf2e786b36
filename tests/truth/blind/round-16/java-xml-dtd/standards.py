"""standards.py PORT: a server of document types that answers after 300 ms, as too many ask it."""

import pathlib
import sys
import time
from http.server import BaseHTTPRequestHandler

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "support"))
from server import Server

DTD = b"<!ELEMENT order (item*)>\n<!ELEMENT item (number)>\n<!ELEMENT number (#PCDATA)>\n"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self) -> None:
        time.sleep(0.3)
        self.send_response(200)
        self.send_header("Content-Type", "application/xml-dtd")
        self.send_header("Content-Length", str(len(DTD)))
        self.end_headers()
        self.wfile.write(DTD)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
