"""Thresholds of threads that wait for a CPU."""

from perfdiag.diagnosis.policy.threshold import Family, duration_ns, factor, rate, share


class RunqueuePolicy(Family):
    title = "threads that wait for a CPU"

    threads_per_second = rate(
        500.0,
        "Starting and ending a thread takes some 50 us: below 500 a second that is less than 3 % of a CPU.",
    )
    lowered_share = share(
        0.1,
        "Of the waiting: whoever had the CPU for less of it is told, but no command lowers its priority.",
    )
    helpers_ns = duration_ns(
        500_000_000,
        "The recorder measures its own threads; its helpers, which read /proc and symbols, take less than this.",
    )
    handover_ns = duration_ns(
        131_072,
        "A woken thread often waits until its waker leaves the CPU: waits up to 131 us (a bucket's edge) "
        "are handovers, no fault.",
    )
    felt_of_window_share = share(
        0.1,
        "Short waits below a tenth of one thread's time do not matter: idle workers with a little work.",
    )
    handovers_share = share(
        0.2,
        "Handovers happen everywhere; from a fifth of busy time on they matter.",
    )
    short_waits_share = share(
        0.9,
        "Handovers are short: nearly all of the waiting must be short waits.",
    )
    woken_by_target_share = share(
        0.5,
        "Handovers begin with a wake-up by a thread of the target: this part of the waits must.",
    )
    slice_ns = duration_ns(
        524_288,
        "A wait behind a computing task lasts a scheduler slice, 0.75 to 3 ms: from 524 us on (a bucket's edge).",
    )
    idle_cpus_share = share(
        0.3,
        "With a third of the host's CPUs idle, threads wait because of their placement.",
    )
    weight_felt_factor = factor(
        2,
        "A group with twice the weight of another has two thirds of a CPU that both want.",
    )
    trial_weight_factor = factor(
        4,
        "The trial weight: large enough to be felt, small enough to leave other processes some CPU time.",
    )
    undeclared_exit_ns = duration_ns(
        100_000,
        "Without a declared latency (most guests) a CPU wakes within 100 us if its host lets it.",
    )
    oversubscribed_margin_share = share(
        0.1,
        "Runnable threads must outnumber the CPUs by more than rounding.",
    )
    used_up_share = share(
        0.85,
        "What is left of the CPUs goes to other processes, to interrupts and to moments without a request.",
    )
    dense_factor = factor(
        2,
        "With this many times more runnable threads than CPUs one always waits: these are no handovers.",
    )
    burst_factor = factor(
        3,
        "A handover has one waiting thread per running one; three per running one were woken together.",
    )
    queueing_threads_share = share(
        0.9,
        "The threads that queue are those with nine tenths of the waiting.",
    )
    largest_quota_factor = factor(
        16,
        "What a target was kept from running is known from its waits: of one that hardly ran it says little.",
    )
    trial_quota_factor = factor(
        2,
        "The trial quota: large enough to see the effect, small enough to protect other groups.",
    )
    throttled_periods_share = share(
        0.01,
        "A group throttled in fewer of its periods had a burst.",
    )


runqueue_policy = RunqueuePolicy()
