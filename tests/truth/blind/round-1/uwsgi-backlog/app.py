import time


def application(_, start_response):
    end = time.perf_counter() + 0.008
    while time.perf_counter() < end:
        sum(range(100))
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
