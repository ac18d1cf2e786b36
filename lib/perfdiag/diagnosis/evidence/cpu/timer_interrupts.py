"""How often timers interrupt CPUs: more often than the kernel's tick where somebody has armed timers of a high rate."""

from dataclasses import dataclass

from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix
from perfdiag.model.model import Model

_WHICH = "tracepoint:timer:hrtimer_expire_entry { @[ksym(args->function)] = count(); }"


@dataclass(frozen=True)
class TimerInterrupts:
    """Local timer interrupts of the CPU that had most."""

    per_second: float

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        text = f"{self.per_second:,.0f} timer interrupts a second on the CPU that had most"
        return Evidence(text, self.per_second, "1/s", "/proc/interrupts")

    @property
    def remedy(self) -> Remedy:
        """Return how to find whose timers they are."""
        return fix(
            f"find whose timers fire: bpftrace -e '{_WHICH}' (perf_swevent_hrtimer: a profiler, which may sample less"
            " often; hrtimer_wakeup: somebody sleeps for microseconds)"
        )


def frequent_timers(model: Model) -> TimerInterrupts | None:
    """Return the timer interrupts where they come more often than any tick and than packets are received, None where
    they do not, or nobody knows."""
    most = max(model.facts.timer_interrupts, default=0)
    per_second = most * 1e9 / model.window_ns if model.window_ns else 0.0
    fewer = most < model.facts.softirqs.get("NET_RX", 0)
    return TimerInterrupts(per_second) if not fewer and per_second >= cpu_policy.frequent_timers_per_second else None
