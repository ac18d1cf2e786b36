"""What applications of the target tell of themselves, beside what system calls tell of them."""

from __future__ import annotations

from perfdiag.recording.schema.base import Buckets, Count, Line, Nanoseconds
from perfdiag.recording.schema.limits import Object, Reason, Word


class Application(Line, tag="application"):
    """An application that the recorder recognised, by the program file of its processes."""

    pid: Count  # the first process it was met in
    kind: Word  # "postgresql"
    version: Word  # "15.18"; "": not known
    processes: Count  # with that file, of the target, when it was met
    reads: Word  # by which means its waits got their names: "my_wait_event_info"; "": they got none
    lack: Reason | None = None  # why they got none


class DatabaseWait(Line, tag="database_wait"):
    """What waits of an account were for, in the words of the database that waited.

    A second view on time that stands in the details, never to be added to it.  Only of waits whose row in the details
    has another object, such as a disk; buckets as in detail.
    """

    pid: Count
    account: Word
    object: Object  # "postgres:10:70": class and number of its wait event
    sum_ns: Nanoseconds
    count: Count
    max_ns: Nanoseconds
    buckets: Buckets


__all__ = ["Application", "DatabaseWait"]
