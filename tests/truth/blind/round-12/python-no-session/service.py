"""service.py PORT FAR CERTIFICATE session|alone: asks a service that is far away, over TLS."""

import sys

import requests
from server import serve

port, far, certificate, how = sys.argv[1:]
session = requests.Session()
session.verify = certificate
session.trust_env = False


def ask(path):
    url = f"https://far.example:{far}/"
    if how == "session":
        session.get(url, timeout=10).raise_for_status()
    else:
        requests.get(url, timeout=10, verify=certificate).raise_for_status()


serve(int(port), ask)
