"""service.py PORT PARTNER: asks a partner, by its name, for each request."""

import http.client
import sys

import server


def ask(path):
    partner = http.client.HTTPConnection("api.partner.example", int(sys.argv[2]))
    partner.request("GET", "/")
    partner.getresponse().read()
    partner.close()


server.serve(int(sys.argv[1]), ask)
