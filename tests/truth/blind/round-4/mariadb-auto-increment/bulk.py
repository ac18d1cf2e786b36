"""PORT: copies 300 rows a time from somewhere that gives one in 10 ms, again and again."""

import sys
import time

import pymysql

SERVER = {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "bulk", "database": "test", "autocommit": True}


def connected():
    """Return a connection, as soon as the server takes one."""
    while True:
        try:
            return pymysql.connect(**SERVER)
        except pymysql.Error:
            time.sleep(0.1)


cursor = connected().cursor()
while True:
    cursor.execute("INSERT INTO orders (amount) SELECT 1 + SLEEP(0.01) FROM seq_1_to_300")
