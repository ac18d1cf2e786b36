"""PORT LOCK UNLOCK: a backup that snapshots for 700 ms of each 2 s."""

import sys
import time

import pymysql

while True:
    try:
        cursor = pymysql.connect(host="127.0.0.1", port=int(sys.argv[1]), user="client", password="client").cursor()
        break
    except pymysql.Error:
        time.sleep(0.2)
while True:
    cursor.execute(sys.argv[2])
    time.sleep(0.7)  # the snapshot
    cursor.execute(sys.argv[3])
    time.sleep(1.3)
