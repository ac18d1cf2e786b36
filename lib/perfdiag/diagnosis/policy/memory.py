"""Thresholds of memory: reclaim, swap, page cache, NUMA."""

from perfdiag.diagnosis.policy.threshold import Family, count, duration_ns, factor, share, size_bytes


class MemoryPolicy(Family):
    title = "memory: reclaim, swap, page cache, NUMA"

    oom_part_share = share(
        0.1,
        "A part of memory of this size is told beside the largest.",
    )
    unused_huge_pages_share = share(
        0.1,
        "Huge pages that nobody uses are worth a word where they keep a tenth of the memory from all others.",
    )
    shared_memory_share = share(
        0.25,
        "Databases keep their buffers in shared memory; from a quarter of the memory on it is asked whose it is.",
    )
    main_file_share = share(
        0.5,
        "Reads are those of one file where it has half of their waiting.",
    )
    dropped_again = count(
        2,
        "Somebody who measures drops the page cache once; what does so again in the same window is a job.",
    )
    dropped_each_ns = duration_ns(
        60_000_000_000,
        "What is dropped less often than each minute has mostly been read again in the meantime.",
    )
    swap_left_share = share(
        0.02,
        "A swap area with less free space is full.",
    )
    dirty_rate_span_ns = duration_ns(
        500_000_000,
        "In shorter spans the pages not yet in the device's counter (per CPU) would matter.",
    )
    dirty_elsewhere_factor = factor(
        2.5,
        "Twice as many dirty pages elsewhere may be chance, as the maxima are of different moments "
        "(tests/incidents/dirty-nfs: 1.3 times).",
    )
    refaulted_again_share = share(
        0.5,
        "Where memory is short, this part of what comes back is reclaimed again.",
    )
    refaults_of_others_factor = factor(
        1.25,
        "A cgroup with this many times the target's possible refaults, or its anonymous memory, has other members.",
    )
    group_counters_behind_bytes = size_bytes(
        16 << 20,
        "memory.stat may be behind by 64 pages for each CPU (MEMCG_CHARGE_BATCH): 16 MiB with 64 CPUs.",
    )
    reread_share = share(
        0.5,
        "Reads come from the limit if at least half of them are of evicted pages.",
    )
    dirty_victim_share = share(
        0.2,
        "A target with less than a fifth of the dirty pages is paused for other writers.",
    )
    trial_high_factor = factor(
        1.25,
        "A quarter more shows whether the limit is the cause.",
    )
    refaults_per_wait_share = share(
        0.5,
        "A refault means that the page had been in memory: from one for two waits on, memory is too small "
        "for the working set.",
    )
    slow_fault_ns = duration_ns(
        10_000_000,
        "A spinning disk seeks and turns in under 10 ms: a fault that takes longer meets a slow or a busy device.",
    )
    numa_pages = count(
        10_000,
        "The remote share of fewer pages says nothing.",
    )
    numa_remote_share = share(
        0.33,
        "Balancing leaves some percent remote; from a third on threads and memory are apart.",
    )
    numa_faults = count(
        1000,
        "The local share of fewer hinting faults says nothing.",
    )
    huge_faults_per_stall_share = share(
        0.5,
        "A fault stalls at most once: with fewer than half as many huge page faults, something else needs large pages.",
    )


memory_policy = MemoryPolicy()
