"""Thresholds of NFS mounts and their servers."""

from perfdiag.diagnosis.policy.threshold import Family, count, duration_ns, factor, rate, share, size_bytes


class NfsPolicy(Family):
    title = "NFS mounts and their servers"

    calls_for_median = count(
        5,
        "With fewer calls the error of a median is as large as the median.",
    )
    stalled_factor = factor(
        10,
        "Where half of the time lies in calls of ten times the norm, a server stops now and then.",
    )
    local_server_calls_share = share(
        0.1,
        "The server is on this host if it served as many requests as the mount made calls, within a tenth.",
    )
    bucket_error_share = share(
        0.1,
        "A time known by its bucket alone has at least this error.",
    )
    stalls_mean_factor = factor(
        2,
        "A mean of more than twice the median comes from a few stalls, not from round trips.",
    )
    own_calls_share = share(
        0.5,
        "Where the target made less than half of the calls of a kind, their times are mostly those of other "
        "processes' calls.",
    )
    slow_answer_ns = duration_ns(
        5_000_000,
        "An answer needs a round trip (under 1 ms inside a site) and at most one seek of a disk (4 ms).",
    )
    slowest_bytes_per_second = rate(
        100_000_000,
        "What any link and any disk carries in a second: a call may take as long as its bytes need.",
    )
    small_transfer_bytes = size_bytes(
        65_536,
        "Clients and servers agree on 64 KiB to 1 MiB for a call unless they are told otherwise.",
    )
    full_transfer_share = share(
        0.9,
        "Calls that carry so much of what the mount lets them, on average, were cut by it.",
    )
    profile_share = share(
        0.1,
        "Calls as fast as can be expected are no fault; they are named from a tenth of the busy time on.",
    )
    busy_threads_share = share(
        0.8,
        "Of the threads of a server; where all are busy so much, most requests find none free (M/M/c).",
    )
    queued_for_threads_share = share(
        0.2,
        "Of the answers' time beyond round trips and the server's own work: so long calls stood before a thread took "
        "them.",
    )
    usual_server_threads = count(
        8,
        "What rpc.nfsd starts unless told otherwise (nfs.conf(5)).",
    )
    hanging_share = share(
        0.5,
        "A thread whose wait lasted half of the window and has not ended hangs.",
    )
    slow_commit_ns = duration_ns(
        10_000_000,
        "A server's disk may take as long for a commit as DISK-FLUSH-SLOW grants an unknown disk for a flush.",
    )
    slow_queue_ns = duration_ns(
        1_000_000,
        "A call is normally sent within microseconds.",
    )
    mostly_queued_factor = factor(
        2.0,
        "Calls that wait twice as long before they are sent as for their answer are held back by the client's limit.",
    )
    queued_calls_share = share(
        0.1,
        "From a tenth of the calls on, the kernel's counter names the cause.",
    )
    commit_share = share(
        0.5,
        "Below half of the time of synchronous writes the commits are not what takes it.",
    )
    lock_held_factor = factor(
        2.0,
        "Waits twice as long as all lock calls together are for the holder of the lock, not for answers.",
    )
    metadata_calls_share = share(
        0.5,
        "A mount is mainly used for metadata if half of its calls are.",
    )
    sqlite_pattern_share = share(
        0.02,
        "A database on NFS locks, commits and looks up: each takes at least this part of the time.",
    )
    sqlite_error_share = share(
        0.2,
        "A sampled share with a larger error is not sure.",
    )


nfs_policy = NfsPolicy()
