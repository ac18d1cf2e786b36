"""Compare a thread's books with what its workload measured by its own clock."""

from __future__ import annotations

from perfdiag.recording import schema

from live.support.recording import Recording, count_of, ns_of, table

SHARE = 0.05


def assert_waited(
    row: schema.Thread,
    truth_ns: int,
    *accounts: str,
    share: float = SHARE,
    waits: int | None = None,
    blocks: int | None = None,
) -> None:
    """A thread's time in `accounts` is its workload's own measure of the same waits, within 5 %.

    The workload's clock goes on while the thread waits for a CPU and runs again; the ledger books that apart.  So the
    account may not be more than the truth, and together with those it may not be less: exact on a busy host too.
    `waits` is their number; with `blocks`, how often the kernel says that the thread slept, there may be up to so many:
    who is woken in vain, as happens on a busy host, sleeps twice for one answer.  Or as few: who loses the CPU between
    asking and waiting finds the answer there.
    """
    waited_ns = ns_of(row, *accounts)
    around_ns = ns_of(row, "cpu.", "runq.")
    slack_ns = share * truth_ns
    assert waited_ns <= truth_ns + slack_ns, f"{waited_ns:,} > {truth_ns:,}: {table(row)}"
    assert waited_ns + around_ns >= truth_ns - slack_ns, f"{waited_ns:,} + {around_ns:,} < {truth_ns:,}: {table(row)}"
    if waits is not None:
        counted = sum(total.count for total in row.accounts if total.account in accounts)
        slept = waits if blocks is None else blocks
        fewest, most = min(waits, slept), max(waits, slept)
        assert fewest <= counted <= most, f"{counted} waits, not {fewest} to {most}: {table(row)}"


# Booked while running too, so that their count is not one of waits only.
REGIONS = ("memory.reclaim", "memory.cgroup", "memory.compaction")


def assert_all_waits_seen(recording: Recording, row: schema.Thread, blocks: int) -> None:
    """A thread slept as often as the kernel counted, but for one wait before its start and those of its exit."""
    regions = count_of(row, *REGIONS)
    running = count_of(row, "cpu.", "runq.", "vm.guest", "vm.exit")
    waits = sum(total.count for total in row.accounts) - running - regions
    exits = sum(detail.count for detail in recording.details("kernel.other", "exit"))
    assert blocks - regions <= waits <= blocks + exits + 3, (
        f"{waits} waits booked, the kernel says {blocks}: {table(row)}"
    )


def assert_mostly(row: schema.Thread, *accounts: str, share: float = 0.9) -> None:
    """`accounts` hold most of what a thread did beyond waiting for its start and for a CPU."""
    whole_ns = row.wall_ns - ns_of(row, "wait.events", "runq.") - (ns_of(row, "cpu.") if "cpu." not in accounts else 0)
    assert ns_of(row, *accounts) >= share * whole_ns, f"{accounts} below {share:.0%} of {whole_ns:,}: {table(row)}"


__all__ = ["assert_all_waits_seen", "assert_mostly", "assert_waited"]
