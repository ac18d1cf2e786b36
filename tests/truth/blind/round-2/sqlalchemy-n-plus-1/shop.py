"""Posts and their authors, which SQLAlchemy loads as LAZY says."""

import os

import sqlalchemy
from sqlalchemy import orm

Base = orm.declarative_base()
engine = sqlalchemy.create_engine(f"postgresql://postgres@127.0.0.1:{os.environ['FAR']}/postgres", pool_size=1)


class Author(Base):
    __tablename__ = "authors"
    id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
    name = sqlalchemy.Column(sqlalchemy.String)


class Post(Base):
    __tablename__ = "posts"
    id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
    author_id = sqlalchemy.Column(sqlalchemy.Integer, sqlalchemy.ForeignKey("authors.id"))
    author = orm.relationship(Author, lazy=os.environ["LAZY"])


def fill():
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("SELECT pg_advisory_xact_lock(1)"))
        Base.metadata.create_all(connection)
        if not connection.execute(sqlalchemy.text("SELECT count(*) FROM posts")).scalar():
            series = "FROM generate_series(1, 60) i"
            connection.execute(sqlalchemy.text(f"INSERT INTO authors SELECT i, 'name' || i {series}"))
            connection.execute(sqlalchemy.text(f"INSERT INTO posts SELECT i, i {series}"))


fill()


def application(_, start):
    with orm.Session(engine) as session:
        page = ", ".join(post.author.name for post in session.query(Post)).encode()
    start("200 OK", [("Content-Length", str(len(page)))])
    return [page]
