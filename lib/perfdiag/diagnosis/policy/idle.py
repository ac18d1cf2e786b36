"""Thresholds of sleeps, stops and targets without work."""

from perfdiag.diagnosis.policy.threshold import Family, count, share


class IdlePolicy(Family):
    title = "sleeps, stops and targets without work"

    parked_whole_life_share = share(
        0.99,
        "A thread that was blocked or idle for 99 % of its life did nothing in the window.",
    )
    pause_busy_share = share(
        0.05,
        "A process that ran for less of its life did nothing but sleep.",
    )
    job_share = share(
        0.1,
        "A script whose jobs take a tenth of the window is asked about for these, not for its pauses between them.",
    )
    sleep_beside_faults_share = share(
        0.1,
        "A sleep of so much of the window is told beside faults.",
    )
    sleep_alone_share = share(
        0.02,
        "Without any fault, a sleep of so much of the window is told.",
    )
    idle_target_share = share(
        0.02,
        "A target that is busy for less of the window and of all thread time, without any fault, waits for work.",
    )
    failed_tries_share = share(
        0.5,
        "Where half of the sleep of threads follows calls that failed, they sleep because of these.",
    )
    failed_tries_part = share(
        0.25,
        "Sleep that follows the same failure again and again makes work late also where a quarter of all sleep does:"
        " what succeeds pauses, too.",
    )
    failed_tries_repeated = count(4, "Failures of one kind before sleeps, from which on they come again and again.")
    stopped_share = share(
        1 / 3,
        "A target that was stopped for a third of the window takes half as long again for all it does.",
    )
    stopped_felt_share = share(
        0.1,
        "A tracer that attaches stops a process for less than a millisecond; a stop of a tenth of the window is felt.",
    )
    one_stop_share = share(
        0.9,
        "Where nine tenths of the time that processes were stopped are due to one way, the rest needs no name.",
    )


idle_policy = IdlePolicy()
