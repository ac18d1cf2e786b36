"""Thresholds of requests: what read them late, pools and loops."""

from perfdiag.diagnosis.policy.threshold import Family, count, duration_ns, factor, share, size_bytes


class RequestsPolicy(Family):
    title = "requests: what read them late, pools and loops"

    server_errors_share = share(
        0.1,
        "Where one answer in ten is an error of the server, whoever asks notices.",
    )
    client_errors_share = share(
        0.5,
        "Single answers of 4xx are wrong questions of clients; where they are half, something is set up wrong.",
    )
    fewest_errors = count(
        2,
        "One answer may be an error by chance.",
    )
    cache_misses = count(
        20,
        "Every cache misses something; of fewer look-ups one more or less decides whether most find nothing.",
    )
    cache_miss_share = share(
        0.5,
        "A cache in which most look-ups find nothing does not do what it is there for; good ones miss one in ten.",
    )
    cache_filled_share = share(
        0.5,
        "Whoever puts something there for every second miss fills a cache; others look for what is rarely there.",
    )
    other_misses_share = share(
        0.1,
        "Where so many answers say the same of empty queues and of locks, nobody knows which of them a request missed.",
    )
    cache_hits = count(
        5,
        "So many requests that found all they looked up give a mean to compare with.",
    )
    shared_sleep_factor = factor(
        1.5,
        "Time of requests for each second that threads slept: from there on, requests wait for sleeps of others.",
    )
    requests_behind_loop = factor(
        1,
        "So many other requests wait on average while an event loop blocks in a call: their number is worth a word.",
    )
    held_up_ns = duration_ns(
        20_000_000,
        "A shorter delay is a wake-up, not a blocked loop: half of a request's delay must lie in longer ones.",
    )
    handover_ns = duration_ns(
        1_000_000,
        "A request that waits for less is handed to another thread and back.",
    )
    long_factor = factor(
        3,
        "Requests of a name are long ones where, once read, they take this many times as long as the typical one.",
    )
    long_part_share = share(
        0.75,
        "A pool is held by a few long requests if these take this part of its workers' time.",
    )
    queue_factor = factor(
        1.5,
        "Requests queue for a thread where they wait for this many times what it computes.",
    )
    polls_of_request = count(
        10,
        "Threads that sleep so often in each request poll: who waits for a time sleeps once or twice.",
    )
    poll_share = share(
        0.1,
        "Each pause of who polls is this part of a request at most.",
    )
    polled_for_share = share(
        0.5,
        "A thread that computes for so much of the window may make what is polled for.",
    )
    acknowledgement_bytes = size_bytes(
        64,
        "An acknowledgement with its frame is no longer (AMQP 21 bytes, MQTT 4); few questions are as short.",
    )
    limit_unexplained_share = share(
        0.5,
        "At least this part of the time without a call under way must be in no account that explains it.",
    )
    written_late_ns = duration_ns(
        50_000_000,
        "The rows at the end of a window are written one after the other: so much may lie between two of them.",
    )
    ended_share = share(
        0.05,
        "Of waits of requests that threads ended, wake-ups told 78 to 101 %; of those that timeouts ended, up to 2 %.",
    )
    waits_again_factor = factor(
        10,
        "A request that waits on a futex so many times in a row does so again when a timeout ends one: 30 times for "
        "Python's GIL, once or twice where nobody comes.",
    )
    part_of_requests_share = share(
        0.1,
        "Waits that requests have so little of, of all that these wait for, are none of theirs.",
    )
    handed_share = share(
        0.1,
        "What requests do not wait for is only said where nine tenths of their time were followed.",
    )
    long_turn_samples = count(
        12,
        "Fewer CPU samples of long turns name no function: of one that half stand in the half width is 28 points.",
    )
    blocking_name_share = share(
        0.8,
        "Requests of one name that take nearly all CPU time of a loop are what the others wait for.",
    )
    mostly_unasked_share = share(
        0.8,
        "Of all sends to clients, and of their bytes: who answers sends little else, who tells news hardly any answer.",
    )
    blocking_function_share = share(
        0.25,
        "A function is named if it takes this part of the program's samples, by more than their error.",
    )
    bound_workers_share = share(
        0.3,
        "A pool of workers bound to other connections is told from this part of the requests' waiting on.",
    )
    polling_share = share(
        0.5,
        "An operation over its limit that mostly waits for work (a long poll) breaks no objective.",
    )
    operations_for_share = count(
        300,
        "With fewer operations nothing can be said about the rarest hundredth: their count is given instead.",
    )


requests_policy = RequestsPolicy()
