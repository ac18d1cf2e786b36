"""A small page of an application that reads its catalogue when it starts."""

import json
import os

import sqlalchemy.orm  # noqa: F401

with open(os.environ["CATALOGUE"], encoding="ascii") as file:
    catalogue = json.load(file)


def application(_, start):
    page = f"{len(catalogue)} articles".encode()
    start("200 OK", [("Content-Length", str(len(page)))])
    return [page]
