"""Thresholds of HotSpot: collections, metaspace and safepoints."""

from perfdiag.diagnosis.policy.threshold import Family, count, rate, share


class JvmPolicy(Family):
    title = "HotSpot: collections, metaspace and safepoints"

    collections_of_window_share = share(
        0.05,
        "G1 aims at 8 % of the time for collections (GCTimeRatio=12), Parallel at 1 %: below this none of "
        "them tries harder.",
    )
    allocated_bytes_per_second = rate(
        1 << 30,
        "Services allocate tens to hundreds of MiB a second; from 1 GiB on the pace itself is what fills a heap.",
    )
    old_generation_full_share = share(
        0.8,
        "An old generation that is fuller than this after a collection leaves too little room.",
    )
    heap_exhausted_share = share(
        0.9,
        "HotSpot itself gives up (OutOfMemoryError: GC overhead limit exceeded) at 98 % of the time and 2 % "
        "of the heap freed: a tenth of the time in full collections that leave the heap nine tenths full is "
        "on the way there.",
    )
    heap_exhausted_of_window_share = share(
        0.1,
        "HotSpot gives up at 98 % of the time: a tenth of the window in collections of a full heap is on "
        "the way there.",
    )
    young_small_share = share(
        0.1,
        "A young generation of less than so much of the old one was set by somebody: HotSpot makes it half as large"
        " (NewRatio=2) unless it is told otherwise.",
    )
    metaspace_full_share = share(
        0.9,
        "The limit is hit by committed space, not by used space: free pieces belong to other class loaders.",
    )
    metaspace_collections = count(
        3,
        "JDK 17 counts its reserved space as the limit, not MaxMetaspaceSize: repeated full collections for "
        "metadata, with nothing committed in between, show that the limit is met.",
    )
    safepoint_late_share = share(
        0.3,
        "Threads stop within microseconds: where this part of a stop is waiting for the last of them, one is late.",
    )
    late_thread_share = share(
        0.5,
        "A thread was late if it was busy for this part of the time in which others had stopped and it had not.",
    )
    safepoint_other_share = share(
        0.5,
        "The finding is about stops that are mostly for something else than a collection.",
    )
    safepoint_of_window_share = share(
        0.02,
        "All threads stopped for so much of the window, and not for a collection, is no housekeeping.",
    )


jvm_policy = JvmPolicy()
