"""Reads a customer from PostgreSQL, and has another service score them, with the session still open (KEEP=yes)."""

import os
import random
import sys
import urllib.request

from server import serve
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

engine = create_engine(f"postgresql+psycopg2://postgres@/postgres?host={sys.argv[1]}", pool_size=2, max_overflow=0)


def score(name: str) -> None:
    """Ask the other service."""
    with urllib.request.urlopen(f"http://127.0.0.1:{os.environ['UPSTREAM']}/score") as answer:
        assert answer.read()


def page(path: str) -> None:
    """Answer."""
    with Session(engine) as session:
        name = session.execute(
            text("SELECT name FROM customers WHERE id = :id"), {"id": random.randint(1, 1000)}
        ).scalar_one()
        if os.environ["KEEP"] == "yes":
            score(name)
    if os.environ["KEEP"] == "no":
        score(name)


serve(int(os.environ["PORT"]), page)
