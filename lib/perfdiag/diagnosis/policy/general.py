"""Thresholds of what is worth a finding, and how far a recording is believed."""

from perfdiag.diagnosis.policy.threshold import Family, count, duration_ns, factor, rate, share


class GeneralPolicy(Family):
    title = "what is worth a finding, and how far a recording is believed"

    residue_share = share(
        0.1,
        "More specific findings took over nine tenths of the time that this finding explains: it is left "
        "out, and the rest of its time stays unexplained.",
    )
    felt_of_threads_share = share(
        0.01,
        "Waiting that takes less than a hundredth of the threads' time cannot be felt: 0.2 s in 72 s of "
        "threads whose requests take some milliseconds.",
    )
    outage_ns = duration_ns(
        1_000_000_000,
        "No disk and no server takes a second for one request: TCP has sent again three times by then.",
    )
    outage_factor = factor(
        20,
        "What answers most of the time 20 times as fast as that is not slow.",
    )
    outage_waits_share = share(
        0.1,
        "Of the waits; where more of them are long, it is no single outage.",
    )
    outage_time_share = share(
        0.5,
        "Of the time of all waits, which is lost in an outage from there on.",
    )
    worth_share = share(
        0.01,
        "Below a hundredth of the busy time a cause cannot be felt: it is checked and fine.",
    )
    worth_of_window_share = share(
        0.005,
        "Of a target that does next to nothing anything may be a large share: a cause must also take 50 ms of 10 s.",
    )
    log_flood_rate = rate(
        100,
        "A kernel in trouble logs some lines a second; a hundred are debugging that was left on, or one error over and"
        " over, and each line may wait for a console of 11 KB/s.",
    )
    setting_share = share(
        0.1,
        "An unusual setting is told where it bears on a tenth of the time: every host has some that bear on less.",
    )
    fault_share = share(
        0.05,
        "A fault below one in twenty is within the run-to-run noise of most services: it is listed, but is no warning.",
    )
    fault_of_window_share = share(
        0.01,
        "A target that is hardly busy gets no warning for less than a hundredth of the window.",
    )
    still_waiting_share = share(
        0.1,
        "A wait that has lasted a tenth of the window when it ends is told; shorter ones are in progress everywhere.",
    )
    stack_agreement_share = share(
        0.98,
        "Stack samples and accounts that agree less often than this lower every confidence.",
    )
    closed_error_share = share(
        0.01,
        "Clocks and races explain a smaller difference between the accounts and the threads' lives.",
    )
    tolerable_loss_share = share(
        0.005,
        "One lost record in 200 waits moves a share that warns (1 in 20) by at most a tenth of itself.",
    )
    waits_for_path = count(
        10,
        "Of fewer sampled waits one more or less moves the end of the path of calls that leads to them.",
    )
    waits_for_p99 = count(
        300,
        "With fewer waits fewer than three are above the p99: none is given.",
    )
    requests_for_fast = count(
        30,
        "Requests are answered fast if 99 of 100 are; of thirty that all are, fewer than one in ten is slow (3/n).",
    )
    requests_of_server = count(
        100,
        "Whoever looks whether a service is alive asks less often: what answers a hundred requests fast is a server, "
        "and what its other threads wait for is felt by nobody who asks.",
    )
    felt_of_account_share = share(
        0.01,
        "A group of threads that has less than a hundredth of an account's time does not feel it.",
    )
    kernel_other_share = share(
        0.25,
        "A quarter of the busy time in calls that no other rule knows is told, whatever they are.",
    )
    unexplained_share = share(
        0.01,
        "More than 1 % of unexplained time is always reported.",
    )


general_policy = GeneralPolicy()
