"""Asks the partner for each request."""

import http.client
import os


def application(_, start):
    partner = http.client.HTTPConnection("api.partner.example", int(os.environ["PARTNER"]))
    partner.request("GET", "/price")
    price = partner.getresponse().read()
    partner.close()
    start("200 OK", [("Content-Length", str(len(price)))])
    return [price]
