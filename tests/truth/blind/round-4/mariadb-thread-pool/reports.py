"""PORT: four sessions that run a report of 2 s each, one after the other."""

import sys
import threading
import time

import pymysql

SERVER = {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "shop", "database": "test", "autocommit": True}


def connected():
    """Return a connection, as soon as the server takes one."""
    while True:
        try:
            return pymysql.connect(**SERVER)
        except pymysql.Error:
            time.sleep(0.1)


def report():
    """Ask for something that waits 2 s for a remote table, again and again."""
    cursor = connected().cursor()
    while True:
        cursor.execute("SELECT SUM(amount) + SLEEP(2) FROM orders")


for _ in range(4):
    threading.Thread(target=report).start()
