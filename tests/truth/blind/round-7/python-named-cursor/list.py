"""PORT DATABASE fetchone|fetchall: reads 60 rows for each request by a named cursor, over a connection of its own."""

import sys
import threading

import psycopg2
from server import serve

PORT, DATABASE, FETCH = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
connection = psycopg2.connect(host="127.0.0.1", port=DATABASE, user="postgres", dbname="postgres")
free = threading.Lock()


def rows(_):
    with free, connection, connection.cursor("list") as cursor:
        cursor.execute("SELECT id, md5(id::text) FROM generate_series(1, 60) id")
        if FETCH == "fetchall":
            cursor.fetchall()
        else:
            while cursor.fetchone():
                pass


serve(PORT, rows)
