"""Thresholds of virtual machines and their hosts."""

from perfdiag.diagnosis.policy.threshold import Family, rate, share


class VirtualPolicy(Family):
    title = "virtual machines and their hosts"

    exits_per_busy_second = rate(
        10_000,
        "A busy virtual CPU exits some 1,000 times a second for timers, interrupts and requests. Ten times "
        "as many cost 2 % of the CPU at 2 us each, 10 % at 10 us.",
    )
    nmis_per_busy_second = rate(
        5_000,
        "Perf takes 4,000 samples per second and CPU by default, each by an NMI: well above are exceptions "
        "of the guest.",
    )
    clock_share = share(
        0.02,
        "A fast source takes a thousandth of a program's time; a fiftieth is the fault of the source.",
    )
    masked_share = share(
        0.02,
        "Unmasking pays from a fiftieth of the CPU time on.",
    )
    emulated_share = share(
        0.02,
        "Replacing the device pays from a fiftieth of the CPU time on.",
    )


virtual_policy = VirtualPolicy()
