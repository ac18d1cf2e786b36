"""Thresholds of directories and remote file systems other than NFS."""

from perfdiag.diagnosis.policy.threshold import Family, count, duration_ns, factor, share, size_bytes


class FilesystemPolicy(Family):
    title = "directories and remote file systems other than NFS"

    full_bytes = size_bytes(
        1 << 20,
        "A file system with less than this left is full: programs ask for more at once.",
    )
    full_share = share(
        0.0005,
        "The same of large ones: what is left in the last thousandths is in pieces.",
    )
    directory_samples = count(
        20,
        "With fewer samples the error of the share exceeds half of it.",
    )
    listing_factor = factor(
        20,
        "A directory is huge if listing takes this many times what opening does; small ones have 1 to 5 "
        "samples listing per sample opening.",
    )
    walking_share = share(
        0.5,
        "A directory is huge if walking its entries takes this part of a lookup.",
    )
    listing_samples = count(
        60,
        "With this many samples listing and none opening, opening is at most one in twenty (rule of three).",
    )
    lookup_share = share(
        0.10,
        "Path lookups take some percent of any program that opens files; below a tenth they are usual.",
    )
    slow_answer_ns = duration_ns(
        5_000_000,
        "One answer needs a round trip (under 1 ms inside a site) and at most one disk seek (4 ms).",
    )
    local_answer_ns = duration_ns(
        500_000,
        "A process of this host that has what is asked for answers in two switches, 20 to 100 us: more is work.",
    )
    stall_ns = duration_ns(
        134_217_728,
        "Waits from 134 ms on (a bucket's edge) are no disk access: retransmission, a stopped server, a "
        "dead network path.",
    )
    hanging_share = share(
        0.5,
        "A thread hangs if its wait lasted half of the window and has not ended.",
    )


filesystem_policy = FilesystemPolicy()
