"""A small page."""


def application(_, start):
    start("200 OK", [("Content-Length", "6")])
    return [b"hello\n"]
