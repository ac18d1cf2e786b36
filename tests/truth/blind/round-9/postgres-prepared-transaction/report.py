"""PORT: a report that has read what it needs, and leaves its transaction open."""

import sys
import time

import psycopg2

while True:
    try:
        connection = psycopg2.connect(host="127.0.0.1", port=int(sys.argv[1]), user="postgres", dbname="postgres")
        connection.cursor().execute("SELECT count(*) FROM reports")
        time.sleep(1000)
    except psycopg2.Error:  # the server or its tables are not there yet
        time.sleep(0.2)
