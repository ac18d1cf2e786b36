"""What applications of the target tell of themselves, beside what system calls tell of them."""

from perfdiag.recording.schema.base import Buckets, Count, Line, Nanoseconds
from perfdiag.recording.schema.limits import Account, Digest, Object, Reason, RequestName, Word
from perfdiag.recording.schema.requests import FineBuckets, PartSums


class Application(Line, tag="application"):
    """An application that the recorder recognised, by the program file of its processes."""

    pid: Count  # the first process it was met in
    kind: Word  # "postgresql", "mariadb", "mysql"
    version: Word  # "15.18"; "": not known
    processes: Count  # with that file, of the target, when it was met
    reads: Word  # by which means its waits got their names: "my_wait_event_info"; "": they got none
    lack: Reason | None = None  # why they got none
    statements_lack: Reason | None = None  # why its statements were not measured; None: they were, or nobody asked


class DatabaseWait(Line, tag="database_wait"):
    """What waits of an account were for, in the words of the database that waited.

    A second view on time that stands in the details, never to be added to it.  Only of waits whose row in the details
    has another object, such as a disk; buckets as in detail.
    """

    pid: Count
    account: Account
    object: Object  # "postgres:10:70": class and number of its wait event
    sum_ns: Nanoseconds
    count: Count
    max_ns: Nanoseconds
    buckets: Buckets


class Statement(Line, tag="statement"):
    """SQL statements of one digest, measured in the server from their begin in it to their end.

    Their time is part of their threads' books, never to be added to them.  Buckets as in Latency.
    """

    server: Word  # "postgresql", "mariadb", "mysql"
    # "run"; "not_run": prepared only, or refused; "prepared": run without its text; "other": another command of the
    # protocol; "unread": its text was not in memory; "no_room": of all digests beyond the table
    kind: Word
    name: Digest  # "SELECT a FROM t WHERE id = ?"; "" where `kind` tells all
    cut: bool  # it is the beginning of a longer text, or the rest could not be told from a literal
    count: Count
    sum_ns: Nanoseconds
    accounts: PartSums
    over_slo: Count  # of `count`, those that took as long as the objective, or longer
    over_slo_ns: Nanoseconds
    over_slo_accounts: PartSums
    max_ns: Nanoseconds
    max_begun_ns: Nanoseconds  # when the longest one began
    max_pid: Count
    max_tid: Count
    max_accounts: PartSums  # of the longest one
    buckets: FineBuckets


class SqlCall(Line, tag="sql_call"):
    """SQL statements of one digest that the target sent to one peer for requests of one name.

    Each lasts as a call does, and is among those of an Exchange.  Buckets as in Latency.
    """

    server: Word  # as in Statement
    kind: Word  # "run", "prepared", "no_room": as in Statement; "together": run, the first of several sent together
    name: Digest
    cut: bool
    object: Object  # the peer, as in Exchange
    request: RequestName  # as in Exchange; "": the request has no name, or none is known that sent it
    count: Count  # answered
    sum_ns: Nanoseconds
    max_ns: Nanoseconds
    owned: Count  # of `count`: the request that sent it is known
    repeated: Count  # of these, that request had sent it before
    buckets: FineBuckets
