"""importer.py PORT yes|no FILE: changes rows, each within a savepoint or not, and does not commit."""

import pathlib
import sys
import time

import psycopg2

port, savepoints, done = sys.argv[1:]
login = f"host=127.0.0.1 port={port} user=postgres dbname=postgres application_name=importer"
while True:
    try:
        connection = psycopg2.connect(login)
        break
    except psycopg2.OperationalError:
        time.sleep(0.1)
cursor = connection.cursor()
cursor.execute("CREATE TABLE account AS SELECT n AS number, 100 AS balance FROM generate_series(1, 1000) n")
cursor.execute("CREATE INDEX ON account (number)")
connection.commit()
for number in range(1, 1001):
    if savepoints == "yes":
        cursor.execute(f"SAVEPOINT row_{number}")
    cursor.execute("UPDATE account SET balance = 101 WHERE number = %s", (number,))
with psycopg2.connect(login) as other:  # somebody else has finished since
    other.cursor().execute("SELECT txid_current()")
pathlib.Path(done).touch()
time.sleep(1000)
