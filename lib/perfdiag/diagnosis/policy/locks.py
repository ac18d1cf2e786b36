"""Thresholds of locks and their holders."""

from perfdiag.diagnosis.policy.threshold import Family, count, factor, share


class LocksPolicy(Family):
    title = "locks and their holders"

    herd_samples_share = share(
        0.5,
        "Most of the sampled waits must be at the condition variable.",
    )
    database_wait_of_longest_share = share(
        0.1,
        "Processes that wait for less than a tenth of what the longest does waited for a moment only.",
    )
    database_wait_of_idle_share = share(
        0.1,
        "Waits for a database's locks that take less than a tenth of what looks idle are left out.",
    )
    holder_seen_share = share(
        0.5,
        "Where fewer of the waits for a lock were followed, its holder is mostly not seen.",
    )
    holder_running_share = share(
        0.5,
        "Where running threads explain less of the time that the lock is held, the holder was waiting.",
    )
    takers_same_cause_share = share(
        0.9,
        "A lock has one cause if it is that of nine tenths of what its takers wait for.",
    )
    starved_holder_share = share(
        0.5,
        "Of the time that a holder wants to run; who waits for a CPU that much holds the lock twice as long.",
    )
    holder_share = share(
        0.5,
        "A thread with half of the known wake-ups is the holder; below, holders take turns.",
    )
    doers_share = share(
        0.75,
        "Requests wait for the threads that did three quarters of the awaited work, not for who told of its end.",
    )
    holder_root_share = share(
        0.5,
        "An account is the root of a lock if it takes half of what the holder did besides waiting for "
        "locks, and half of the time the lock was held.",
    )
    overlap_factor = factor(
        3,
        "A writer that waits for so many times as long as any reader waits meanwhile waits for readers that overlap.",
    )
    overlap_taken_share = share(
        0.5,
        "Readers overlap if some besides the one that was seen read for half of the time, or more.",
    )
    held_share = share(
        0.8,
        "At least this part of the time that somebody waits for a lock it is held; in the rest it is handed over.",
    )
    holder_stacks_share = share(
        0.5,
        "A thread with half of its process's time in an account is the one that stacks of that account show.",
    )
    never_released_wait_share = share(
        0.99,
        "A thread that waits for a lock this part of its observed time never got it.",
    )
    never_released_observed_share = share(
        0.9,
        "A thread observed for a shorter part of the window may only be in a long queue.",
    )
    never_released_work_share = share(
        0.01,
        "Threads that did less than a hundredth of the window's work together never got the lock: a holder "
        "does something with it.",
    )
    queue_same_cause_share = share(
        0.9,
        "Each thread in a queue saw what the one before it waited for: if that was the same in nine tenths "
        "of the known time, the whole queue waits for it.",
    )
    queue_followed_share = share(
        0.25,
        "Only the last few waits of a long queue can be followed: from this part on they stand for the rest.",
    )
    queue_part_share = share(
        0.1,
        "A cause with a smaller part of a queue's time is left out.",
    )
    parked_share = share(
        0.05,
        "From this part of all thread time on, threads that may be blocked or idle are told.",
    )
    parked_times = count(
        3,
        "A thread must have waited on a futex this often before the futex can be a lock.",
    )


locks_policy = LocksPolicy()
