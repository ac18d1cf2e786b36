"""PORT PAUSE_MS FILE: who reads a large cached result, with a pause after each row, and who writes to its table."""

import pathlib
import sys
import threading
import time

import pymysql
import pymysql.cursors

PORT, PAUSE = int(sys.argv[1]), int(sys.argv[2]) / 1000
LARGE = "SELECT text FROM pages"


def connected(kind=pymysql.cursors.Cursor):
    while True:
        try:
            login = {"host": "127.0.0.1", "port": PORT, "user": "root", "autocommit": True, "cursorclass": kind}
            return pymysql.connect(**login).cursor()
        except pymysql.err.OperationalError:
            time.sleep(0.1)


def write():
    cursor = connected()
    while True:
        cursor.execute("UPDATE test.pages SET hits = hits + 1 WHERE id = 1")
        time.sleep(0.5)


def read():
    fast, slow = connected(), connected(pymysql.cursors.SSCursor)
    fast.execute("USE test")
    slow.execute("USE test")
    while True:
        fast.execute(LARGE)
        slow.execute(LARGE)
        while slow.fetchone():
            time.sleep(PAUSE)
        time.sleep(0.4 if PAUSE else 3.4)


first = connected()
first.execute("CREATE DATABASE test")
first.execute("USE test")
first.execute("CREATE TABLE test.pages (id int PRIMARY KEY, hits int, text mediumtext)")
first.execute("CREATE TABLE test.numbers (id int PRIMARY KEY, number int)")
first.execute("INSERT INTO test.pages SELECT seq, 0, repeat('x', 8000) FROM seq_1_to_256")
first.execute("INSERT INTO test.numbers SELECT seq, seq FROM seq_1_to_1000")
pathlib.Path(sys.argv[3]).touch()
threading.Thread(target=write).start()
read()
