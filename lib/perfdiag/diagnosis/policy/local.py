"""Thresholds of processes, pipes, queues and descriptors of this host."""

from perfdiag.diagnosis.policy.threshold import Family, count, duration_ns, duration_s, factor, rate, share, size_bytes


class LocalPolicy(Family):
    title = "processes, pipes, queues and descriptors of this host"

    awaited_member_share = share(
        0.5,
        "A process that others waited for during half of their waits is the one they wait for.",
    )
    peer_seen_share = share(
        0.5,
        "What another process did during half of the waits for it or more tells what these are for.",
    )
    peer_idle_share = share(
        0.15,
        "A peer that answers as soon as it can is hardly idle while somebody waits for its answer.",
    )
    crashes_share = share(
        0.01,
        "Of a build or a test suite that starts hundreds of programs, one may crash on purpose.",
    )
    starts_per_second = rate(
        20.0,
        "Under twenty a second, at 1 to 5 ms each, starting processes takes less than a tenth of a CPU.",
    )
    short_life_ns = duration_ns(
        50_000_000,
        "A process that lives longer on average does work of its own: starting it (1 to 5 ms) is a small part.",
    )
    start_cpu_ns = duration_ns(
        1_000_000,
        "Fork, exec, loading libraries and exit take 0.5 to 1 ms of CPU time: a process that takes no more "
        "does nothing else.",
    )
    stage_share = share(
        0.001,
        "Less of a pipeline's waits is no stage: the shell that makes it waits a moment for each process.",
    )
    awaited_stage_waits_share = share(
        0.25,
        "A stage that waits for more than a quarter of its life is not the limit of its pipeline: the work is shared.",
    )
    awaited_stage_less_share = share(
        0.5,
        "The limiting stage waits for at most half of what any other stage does.",
    )
    waiting_stages_share = share(
        0.1,
        "The other stages wait for the limiting one for at least a tenth of their life.",
    )
    stopped_peer_share = share(
        0.5,
        "A process stopped for half of the window answers nobody.",
    )
    descriptors_full_share = share(
        0.98,
        "The next open() or accept() of a burst fails: no service keeps so few descriptors in reserve.",
    )
    tasks_of_sandbox = count(
        1,
        "A process that may have one task, or none, has given up starting any on purpose (a sandbox).",
    )
    tasks_near_share = share(
        0.8,
        "A limit of tasks of which four fifths are used is near: a burst of workers can reach it.",
    )
    descriptors_near_share = share(
        0.8,
        "From here on a leak or a burst reaches the limit before anybody looks again.",
    )
    descriptors_soon_s = duration_s(
        3600.0,
        "Growth that reaches the limit within an hour is an incident of this shift.",
    )
    ipc_peer_share = share(
        0.5,
        "A thread that ended at least half of the waits is the one at the other end.",
    )
    ipc_known_waits = count(
        20,
        "Of so many waits some waker would be known, if one thread ended most of them.",
    )
    child_wait_share = share(
        0.1,
        "A thread that waits for children for less than a tenth of the window is not held up by them.",
    )
    supervising_share = share(
        0.95,
        "A wait over nearly the whole window is a supervisor's or a shell's: no child ended that it waited for.",
    )
    child_known_share = share(
        0.5,
        "The children's own accounts tell what the waits were for where this part of their time is known.",
    )
    slow_fork_ns = duration_ns(
        1_000_000,
        "A fork of a small program takes 0.1 to 0.3 ms: from here on it is its memory that takes the time.",
    )
    large_fork_bytes = size_bytes(
        64 << 20,
        "Copying the page tables of so much memory in small pages takes as long as a slow fork.",
    )
    fork_freeing_factor = factor(
        2,
        "Freeing a copied address space took 1.3 times as long as making it (Linux 6.18): beyond this "
        "factor it is the child's own memory.",
    )
    present_share = share(
        0.99,
        "A process that was there for less of the window started in it.",
    )
    queue_reader_share = share(
        0.5,
        "A thread that ended at least half of the waits is the reader.",
    )
    queue_reader_sleeps_share = share(
        0.5,
        "A reader in the target that sleeps half of its time is at fault itself.",
    )
    tracer_stops_per_second = rate(
        10,
        "A debugger stops a thread once, for as long as somebody looks at it; more stops a second are a "
        "tracer of calls.",
    )
    terminal_samples_share = share(
        0.9,
        "So much of the sampled time at an object must be writing to the terminal.",
    )


local_policy = LocalPolicy()
