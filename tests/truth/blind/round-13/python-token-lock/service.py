"""service.py PORT AUTHORITY request|beside: each request needs a token, which is good for 0.1 s.

It is renewed by the request that finds it too old, under the lock that guards it, or by a thread beside.
"""

import http.client
import sys
import threading
import time

from server import serve

GOOD_FOR_S = 0.1
port, authority, renewed = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


class Token:
    def __init__(self):
        self.lock = threading.Lock()
        self.value, self.until_s = self.fetch(), 0.0

    def fetch(self):
        connection = http.client.HTTPConnection("127.0.0.1", authority)
        connection.request("GET", "/token")
        return connection.getresponse().read()

    def get(self):
        with self.lock:
            if renewed == "request" and time.monotonic() > self.until_s:
                self.value = self.fetch()
                self.until_s = time.monotonic() + GOOD_FOR_S
            return self.value

    def renew(self):
        while True:
            value = self.fetch()
            with self.lock:
                self.value = value
            time.sleep(GOOD_FOR_S)


token = Token()
if renewed == "beside":
    threading.Thread(target=token.renew, daemon=True, name="renewer").start()
serve(port, lambda path: token.get())
