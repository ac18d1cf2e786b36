"""Looks up a user in the directory for each request."""

import os
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import ldap

own = threading.local()


def directory() -> ldap.ldapobject.LDAPObject:
    """Return the connection of this thread."""
    if not hasattr(own, "directory"):
        own.directory = ldap.initialize(f"ldap://127.0.0.1:{os.environ['DIRECTORY']}")
        own.directory.set_option(ldap.OPT_REFERRALS, int(os.environ["REFERRALS"]))
        own.directory.simple_bind_s()
    return own.directory


def look_up(user: str) -> bool:
    """Say whether there is such a user."""
    found = directory().search_s("dc=example", ldap.SCOPE_SUBTREE, f"(uid={user})", ["uid"])
    return any(name for name, _ in found)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with who it is."""
        user = f"user{random.randint(1, 500)}"
        page = b"hello\n"
        self.send_response(200 if look_up(user) else 500)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
