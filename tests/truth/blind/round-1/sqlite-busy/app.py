import sqlite3

database = None


def application(_, start_response):
    global database
    if database is None:  # after the fork: a connection must not be carried across
        database = sqlite3.connect("forum.db", timeout=10, isolation_level=None)
        database.execute("PRAGMA synchronous = OFF")
    database.execute("INSERT INTO posts (body) VALUES (?)", ("first",))
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
