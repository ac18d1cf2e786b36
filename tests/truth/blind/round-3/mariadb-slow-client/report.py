"""PORT MS: reads the whole table row by row every 2 s, and works for MS milliseconds at each hundredth row."""

import socket
import sys
import time

import pymysql
import pymysql.cursors

PORT, WORK_S = int(sys.argv[1]), float(sys.argv[2]) / 1000


def connect():
    while True:
        try:
            narrow = socket.socket()
            narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            narrow.connect(("127.0.0.1", PORT))
            session = pymysql.connect(user="client", password="client", database="shop", defer_connect=True)
            session.connect(narrow)
            return session
        except (OSError, pymysql.err.Error):
            time.sleep(0.1)


cursor = connect().cursor(pymysql.cursors.SSCursor)
while True:
    began = time.monotonic()
    cursor.execute("SELECT * FROM stock")
    for number, _ in enumerate(cursor):
        if WORK_S and number % 100 == 0:
            time.sleep(WORK_S)
    print("report", time.monotonic() - began, file=sys.stderr, flush=True)
    time.sleep(max(0, began + 2 - time.monotonic()))
