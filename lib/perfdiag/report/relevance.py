"""Whether something that was not measured matters to a report: it would explain much of the time, and nothing else
does.

What matters to few targets would otherwise be in every report, and nobody reads it then.
"""

from collections.abc import Callable, Mapping

from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.rule import account_of
from perfdiag.diagnosis.rules import RULES
from perfdiag.model.coverage.budget import last_steps
from perfdiag.model.model import Model
from perfdiag.model.share_denominator import whole_accounts, whole_ns
from perfdiag.recording.accounts import ACCOUNTS, PARKED
from perfdiag.recording.given_up import REQUESTS

MUCH = 0.1  # of the report's whole time
MOST = 0.5  # of it, for what only makes other time longer
_CPU = ("cpu.user", "cpu.kernel")
_FOR_WORK = ("net.accept", "net.request", "net.receive", "wait.events")
# What each missing part of a recording would tell of.  Parts that are not here always matter.
TELLS_OF: Mapping[str, tuple[str, ...]] = {
    "block": ("disk.read", "disk.write", "disk.flush"),
    "chains": tuple(each.name for each in ACCOUNTS if each.name.startswith(("lock.", "ipc.", PARKED))),
    "clock": _CPU,
    "clock_counters": _CPU,
    "compaction": _CPU,
    "compaction_order": ("memory.compaction",),
    "descendants": ("wait.child",),
    "disk_users": ("disk.read", "disk.write", "disk.flush"),
    "dirty_throttle": ("memory.dirty_throttle", "disk.write", "kernel.other"),
    "fault_file": ("memory.major_fault",),
    "host_side": ("cpu.stolen", "runq.waking"),
    "idle_state": ("runq.waking",),
    "irq": _CPU,
    "network_settings": ("net.connect", "net.receive", "net.send"),
    "nfs": tuple(each.name for each in ACCOUNTS if each.name.startswith("nfs.")),
    "nfsd": ("cpu.kernel",),
    "operations": (),  # asked for with --slo only
    "packet_drops": (),  # tells more of what is found anyway
    "page_cache": ("disk.read",),
    "reclaim": ("cpu.kernel", "memory.reclaim"),
    "request_names": (),  # by choice
    "runtime": (PARKED,),
    "sessions": ("wait.events", PARKED),
    "statements": (),  # a second view on time that is measured anyway
    "stacks": (*_CPU, "kernel.other", PARKED, "lock.kernel"),
    "steal": _CPU,
    "tcp": ("net.receive", "net.send"),
    "threads": (),  # of every recording by a script
    "throttle": ("runq.throttled", "runq.busy"),
    "vm": ("vm.exit", "vm.guest"),
    "vm_device": ("vm.exit",),
}
# What was given up in the window to keep the budget would tell of more than of time without a finding.
_GIVEN_UP_TELLS_OF: Mapping[str, tuple[str, ...]] = {
    "failed_calls": ("wait.timer", "wait.child", PARKED),
    "peers": ("net.connect", "net.receive", "ipc.pipe", "ipc.unix", "wait.events"),
    "stacks": TELLS_OF["stacks"],
}
_MAKES_LONGER = frozenset(
    {"clock", "clock_counters", "irq", "steal", "compaction", "reclaim", "network_settings", "nfsd"}
)


def judge(model: Model, diagnosis: Diagnosis) -> Callable[[str], bool]:
    """Return a function that tells whether a missing part, or a rule without an answer, matters."""
    whole = whole_ns(model) or 1
    left = whole_accounts(model)
    for finding in diagnosis.findings:
        for claim, ns in finding.claims.items():
            left[account_of(claim)] = left.get(account_of(claim), 0) - ns
    left[PARKED] = max(left.get(PARKED, 0), model.parked_ns)

    def matters(name: str) -> bool:
        if name == REQUESTS:
            return model.gave_up_requests or any(model.ns(account) for account in _FOR_WORK)
        rule = RULES.get(name)
        accounts = rule.accounts if rule else TELLS_OF.get(name)
        if accounts is None:
            return True
        least = MOST if name in _MAKES_LONGER or (rule and rule.multiplier) else MUCH
        return sum(left.get(account, 0) for account in accounts) >= least * whole

    return matters


def judge_given_up(model: Model) -> Callable[[str], bool]:
    """Return a function that tells whether something that was given up could have told of much of the time: a part that
    is left tells as much, with an error that stands at its numbers."""
    whole, last = whole_ns(model) or 1, last_steps(model.given_up)

    def could_tell(feature: str) -> bool:
        accounts = _GIVEN_UP_TELLS_OF.get(feature)
        return not last[feature].one_of and (accounts is None or model.ns(*accounts) >= MUCH * whole)

    return could_tell
