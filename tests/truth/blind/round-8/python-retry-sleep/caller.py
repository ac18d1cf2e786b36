"""PORT SERVICE: asks a service for each request, and again if it is not available."""

import sys

import urllib3
from server import serve

retry = urllib3.Retry(total=5, backoff_factor=0.5, status_forcelist=[503])
pool = urllib3.PoolManager(maxsize=8, retries=retry)
serve(int(sys.argv[1]), lambda _: pool.request("GET", f"http://127.0.0.1:{sys.argv[2]}/"))
