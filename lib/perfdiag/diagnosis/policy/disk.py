"""Thresholds of block devices and their queues."""

from perfdiag.diagnosis.policy.threshold import Family, count, duration_ns, factor, rate, share, size_bytes


class DiskPolicy(Family):
    title = "block devices and their queues"

    stream_request_bytes = size_bytes(
        262_144,
        "From 256 KiB per request on, bytes per second limit a stream, not the time of one request.",
    )
    slowest_bytes_per_second = rate(
        100_000_000,
        "Any disk moves this much; a request may take as long as its bytes need at this rate.",
    )
    above_device_ns = duration_ns(
        1_000_000,
        "File system and scheduler take up to a millisecond of any wait.",
    )
    requests_per_wait = count(
        2,
        "A read needs at most its mapping block and then its data; a write the same.",
    )
    no_idle_cpu_share = share(
        0.05,
        "Below this idle share there is more work than CPUs, and kernel threads wait for CPUs, too.",
    )
    other_users_share = share(
        0.5,
        "Other processes must have most of the bytes and most of the requests to be the cause.",
    )
    seen_bytes_share = share(
        0.5,
        "Of the bytes a disk moved, of which it is known who asked; with less, most came another way.",
    )
    named_user_share = share(
        0.1,
        "What another process moves of all bytes of a disk, from which on it is named.",
    )
    layer_work_share = share(
        0.25,
        "Of the target's kernel time; what a file system does for so much of it, it does for whoever waits there, too.",
    )
    several_erasures = count(
        3,
        "One or two long discards are those that a disk without an answer had to do at that time.",
    )
    erasing_share = share(
        0.5,
        "Discards and zeroes that take the device half of the time of the waits are what these waited behind.",
    )
    erasure_of_wait = share(
        0.1,
        "A wait behind discards or zeroes is not longer than ten of them.",
    )
    alike_size_factor = factor(
        4,
        "Members of an array have requests of about the same size; if they differ by more, they serve other things.",
    )
    even_bytes_factor = factor(
        2,
        "About as much is written to each member of an array; where one gets twice as much, they serve other things.",
    )
    scanned_share = share(
        0.9,
        "Of a file's bytes; who reads so much of it reads it from one end to the other.",
    )
    least_read_ahead_bytes = size_bytes(
        16 * 1024,
        "Kernels read 128 KiB ahead: who sets less than an eighth of that reads files nearly page by page.",
    )
    amplified_factor = factor(
        2,
        "For each disk: a mirror writes once to each of its members, a journal above the volume counts there, too.",
    )
    array_factor = factor(
        6,
        "RAID 6 reads three blocks and writes three for a small write; a mirror writes as many as it has members.",
    )
    written_twice_factor = factor(
        2,
        "A file system writes metadata twice (journal), and data, too, if configured.",
    )
    commit_bytes = size_bytes(
        65_536,
        "A flush is one journal commit; most take less than 16 blocks of 4 KiB.",
    )
    slow_member_factor = factor(
        2.0,
        "Disks of one kind and age differ by some percent; twice as slow is not chance.",
    )
    slow_member_ns = duration_ns(
        1_000_000,
        "Differences under a millisecond per request do not make an array slow.",
    )
    slow_member_requests = count(
        30,
        "With fewer requests one outlier sets the mean.",
    )
    profile_share = share(
        0.1,
        "Waits as short as the device allows are a profile, from a tenth of the busy time on.",
    )
    surely_slow_factor = factor(
        2,
        "Without the device's own times only waits of twice the usual time are surely too long.",
    )
    timeout_ns = duration_ns(
        1_073_741_824,
        "Waits over a second (a bucket's edge) are retries and timeouts.",
    )
    queued_share = share(
        0.5,
        "Queueing is the cause if it takes at least half of the requests' time.",
    )
    queued_ns = duration_ns(
        1_000_000,
        "Schedulers merge and devices work in parallel in queues shorter than a millisecond: they are no fault.",
    )
    saturated_share = share(
        0.95,
        "Busy 95 % of the time is always busy; a rotating disk serves one request at a time, others several.",
    )
    at_limit_share = share(
        0.8,
        "A group with four fifths of its limit used is at the limit: the kernel grants it in slices.",
    )
    trial_limit_factor = factor(
        2,
        "The trial limit: large enough to see the effect, small enough to protect other groups.",
    )
    slow_completion_ns = duration_ns(
        10_000_000,
        "A rotating disk answers in 10 ms: a longer completion met a queue, a slow device or a slow peer.",
    )
    completion_explained_share = share(
        0.5,
        "A device explains waits if its requests take at least half as long on average.",
    )
    loop_device_share = share(
        0.5,
        "Below half of a wait the loop device is not the cause.",
    )


disk_policy = DiskPolicy()
