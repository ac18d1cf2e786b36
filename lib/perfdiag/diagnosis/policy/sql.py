"""Thresholds of database sessions, their transactions and locks."""

from perfdiag.diagnosis.policy.threshold import Family, count, duration_ns, share


class SqlPolicy(Family):
    title = "database sessions, their transactions and locks"

    slow_statement_ns = duration_ns(
        100_000_000,
        "Statements that users wait for take some milliseconds; from 100 ms on somebody notices.",
    )
    computing_share = share(
        0.5,
        "Statements that compute for less than half of their time are slow for what they wait for.",
    )
    most_of_requests_share = share(
        0.5,
        "A statement that computes for half of what all requests take is what users wait for, however short it is.",
    )
    statements_of_session = count(
        5,
        "A session that sends five statements has used its connection; one that sends fewer mostly begins and ends.",
    )
    clients_share = share(
        0.5,
        "Where fewer of the short processes of a server have a connection, most of them work for other sessions.",
    )
    one_statement_share = share(
        0.5,
        "A fault that one statement has half of is met where that statement is sent.",
    )
    deadlock_timeout_ns = duration_ns(
        1_000_000_000,
        "PostgreSQL looks for a deadlock after deadlock_timeout, 1 s by default.",
    )
    queue_seen_share = share(
        0.5,
        "The rest of a queue is taken to be like the part that was seen from this share on: a queue can be "
        "longer than what threads remember.",
    )
    lock_holder_share = share(
        0.5,
        "A session, or an activity of sessions, with half of the known time is named as the holder.",
    )
    lock_known_share = share(
        0.25,
        "Where less of the time is known, a root says nothing about the rest.",
    )
    holder_named_share = share(
        0.05,
        "What holders did for less of the time that others waited is not what these waited for.",
    )
    deadlock_share = share(
        0.5,
        "Sessions wait for each other if they do so until deadlock_timeout for half of what they wait.",
    )
    deadlock_rest_share = share(
        0.75,
        "Of sessions that wait for each other one gives up, so fewer waits go on than there are looks for deadlocks; "
        "where somebody works meanwhile, each goes on.",
    )
    commit_share = share(
        0.1,
        "Below this part of the busy time the commits are not what limits a session.",
    )
    client_round_trip_ns = duration_ns(
        10_000_000,
        "A client on the same network answers sooner: a longer pause is the client's work in the middle of "
        "its transaction.",
    )
    unseen_share = share(
        0.1,
        "So much unseen time may be taken to be like the rest without saying so.",
    )
    idle_session_share = share(
        0.5,
        "One session that held up half of what others waited is named; of several, none.",
    )


sql_policy = SqlPolicy()
