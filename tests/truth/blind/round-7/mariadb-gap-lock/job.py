"""PORT SECONDS: asks for an order that is not there, and waits so long before it commits; 0: makes the table."""

import sys
import time

import pymysql

PORT, SECONDS = int(sys.argv[1]), float(sys.argv[2])
connection = pymysql.connect(host="127.0.0.1", port=PORT, user="root")
cursor = connection.cursor()
if not SECONDS:
    cursor.execute("CREATE DATABASE test")
    cursor.execute("CREATE TABLE test.orders (id bigint AUTO_INCREMENT PRIMARY KEY, customer int)")
    cursor.execute("INSERT INTO test.orders VALUES (1, 1), (2, 2)")
    connection.commit()
    sys.exit()
while True:
    time.sleep(0.2)
    cursor.execute("SELECT customer FROM test.orders WHERE id = 1000000000 FOR UPDATE")
    time.sleep(SECONDS)
    connection.commit()
