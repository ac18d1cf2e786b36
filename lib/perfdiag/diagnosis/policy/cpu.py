"""Thresholds of computing: clocks, samples and kernel work."""

from perfdiag.diagnosis.policy.threshold import Family, count, duration_ns, factor, rate, share, size_bytes


class CpuPolicy(Family):
    title = "computing: clocks, samples and kernel work"

    clock_known_share = share(
        0.9,
        "The clock must be known for this part of the target's CPU time.",
    )
    clock_ticks = count(
        50,
        "Fewer ticks (a fifth of a second of running) say little about the clock.",
    )
    clock_tries = count(
        20,
        "With fewer measurements even the shortest may have been disturbed.",
    )
    clock_read_ns = duration_ns(
        100,
        "Reading a clock takes up to 100 ns: a smaller deviation is the reading, not the clock.",
    )
    collector_share = share(
        0.1,
        "The lower end of the collector's share must reach this for a finding.",
    )
    collector_thread_share = share(
        0.9,
        "A thread with so many of its samples in the collector is one of its helpers, and waits for the "
        "collector alone.",
    )
    deep_idle_state_ns = duration_ns(
        50_000,
        "Shallow states cost 1 to 10 us per wake-up and are no fault; deep states declare 50 us or more "
        "(Intel C6: 85 to 190).",
    )
    idle_latency_mismatch_factor = factor(
        4,
        "With half of the wake-ups below a quarter of the declared latency, the table does not match this CPU.",
    )
    idle_wake_ups = count(
        30,
        "The median of fewer wake-ups says little.",
    )
    kernel_work_share = share(
        1 / 3,
        "The lower end of a kind's share of kernel samples must reach this to get its own remedy.",
    )
    small_call_bytes = size_bytes(
        1024,
        "Below this size a call costs more than copying its data.",
    )
    calls_per_second = rate(
        10_000,
        "Fewer calls a second, at under 10 us each, take less than a tenth of a CPU.",
    )
    polling_inside_share = share(
        0.97,
        "A call of poll() that returns at once spends more than the rest on the way in and back: 0.1 to 0.5 us.",
    )
    spinning_share = share(
        0.4,
        "A thread spins if polling takes two fifths of its samples; a busy event loop spends a tenth in epoll_wait.",
    )
    spinning_sleepless_ns = duration_ns(
        10_000_000,
        "A thread that sleeps at least every 10 ms of CPU time does not spin; event loops sleep after microseconds.",
    )
    served_known_share = share(
        0.9,
        "The CPU time of requests is known if one thread each served this part of their time.",
    )
    spinning_copied_share = share(
        0.06,
        "A receive with data copies it: no copy in 50 samples leaves at most 6 % for copying.",
    )
    samples_for_function = count(
        50,
        "With fewer samples the half width of a share exceeds 14 points: too wide to name a function.",
    )
    one_command_share = share(
        0.8,
        "Of several commands the one that has so much of the CPU time is the one that works.",
    )
    one_thread_share = share(
        0.8,
        "Where one thread has so much of the CPU time, more CPUs help little.",
    )
    hot_spot_share = share(
        0.5,
        "What most of the CPU samples stand in is what the target computes: a function, a library or a purpose.",
    )
    shared_out_share = share(
        0.25,
        "Of a program that does several things, one that takes so much of its CPU time is worth a look.",
    )
    same_path_share = share(
        0.9,
        "Of functions that call each other the innermost is named; walks lose up to a tenth of the samples.",
    )
    call_path_share = share(
        0.2,
        "A path of calls is followed as long as a fifth of all CPU samples stand below it: making less than that"
        " cheaper hardly shows.",
    )
    split_error_share = share(
        0.1,
        'With a larger half width of the user/kernel split, "mostly kernel" cannot be told from "mostly user".',
    )
    split_unknown_share = share(
        0.5,
        "With a larger half width of the user/kernel split the two are left out apart at all.",
    )
    bound_share = share(
        0.5,
        "Above half of the busy time no other cause can be larger.",
    )
    bound_in_one_share = share(
        0.25,
        "Own code that takes a quarter of the time is worth a word beside a fault if most of it is one function.",
    )
    one_loop_share = share(
        0.95,
        "A loop that waits for a flag in memory shows one function in nearly every sample; real work seldom does.",
    )
    low_clock_share = share(
        0.9,
        "Heat and measuring errors explain less than a tenth below the rated clock.",
    )
    at_power_limit_share = share(
        0.95,
        "A package that draws this much of its power limit is slowed down by the limit.",
    )
    frequent_timers_per_second = count(
        2000,
        "The kernel's tick interrupts a CPU 100 to 1,000 times a second.",
    )
    irq_usual_share = share(
        0.1,
        "A network server spends about a tenth of its CPU time in interrupts: the rest above it is what a "
        "remedy can give back.",
    )
    irq_heavy_share = share(
        0.25,
        "A network server spends about a tenth of its CPU time in interrupts; a quarter is too much.",
    )
    irq_loaded_share = share(
        0.05,
        "Below a twentieth of one CPU, interrupts that hit a few threads are no fault.",
    )
    main_device_share = share(
        0.4,
        "Of the interrupts by devices: with so many the device is named; disks and network cards share the rest.",
    )
    device_interrupts_per_second = rate(
        50,
        "A device that interrupts less often takes no CPU time to speak of, however long each lasts.",
    )
    loopback_packets_share = share(
        0.9,
        "With nine in ten packets on loopback, queues of network cards do not matter.",
    )
    loopback_softirqs_share = share(
        0.5,
        "With half of the softirqs for loopback, queues of network cards do not matter.",
    )
    kernel_of_busy_share = share(
        0.2,
        "Below a fifth of the busy time in the kernel the target's own code dominates.",
    )
    kernel_of_cpu_share = share(
        0.4,
        "Below two fifths of the CPU time in the kernel the target's own code dominates.",
    )
    kernel_lock_spin_share = share(
        0.1,
        "A healthy system spends under 1 % of its CPU time spinning for kernel locks.",
    )
    single_thread_saturated_share = share(
        0.9,
        "A thread that runs for nine tenths of its life has no room for more work.",
    )
    single_thread_others_share = share(
        0.5,
        "A second thread that runs half of the time shows that the work is shared after all.",
    )
    single_thread_observed_ns = duration_ns(
        1_000_000_000,
        "Shorter lives say nothing: every program starts with a burst on one thread.",
    )
    pipeline_stage_ready_share = share(
        0.7,
        "The awaited stage of a pipeline is its limit if it ran or was runnable for this much of its life.",
    )
    recording_felt_share = share(
        0.05,
        "Probes in the target's own program that take so much of its CPU time slow what is measured.",
    )
    collector_heavy_share = share(
        0.5,
        "Collectors aim at far less: Go's at a quarter of the CPUs, Java's G1 at 8 %, its parallel one at 1 %.",
    )


cpu_policy = CpuPolicy()
