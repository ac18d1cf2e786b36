"""PORT DATABASE HOSTS: asks a database for each page, over a connection of its own."""

import sys

import psycopg2
from server import serve

_, port, database, hosts = sys.argv


def answer(_):
    connection = psycopg2.connect(host=hosts, port=database, user="postgres", dbname="postgres", connect_timeout=2)
    connection.cursor().execute("SELECT 1")
    connection.close()


serve(int(port), answer)
