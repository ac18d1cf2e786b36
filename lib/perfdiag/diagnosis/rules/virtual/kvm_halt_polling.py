"""KVM-HALT-POLLING: the host polls for work of halted guests."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.evidence.target import setting
from perfdiag.diagnosis.evidence.virtual.virtual_cpus import (
    Exits,
    limited,
    none_ran,
    per_second,
    reason,
    runs_guests,
    unknown,
)
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Evidence, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import duration, fix, percent, worth
from perfdiag.model.guest import exit_names
from perfdiag.model.model import Model

ID = "KVM-HALT-POLLING"
PARAMETER = "/sys/module/kvm/parameters/halt_poll_ns"


@rule(
    ID,
    title="The host polls for guests that halted",
    accounts=("vm.exit",),
    meaning=(
        "When a guest halts, KVM polls for new work for up to halt_poll_ns before it sleeps, so that the guest wakes"
        " faster. The CPU looks busy and other processes cannot use it. This is a trade-off and a profile."
    ),
    measured=(
        "Time on a CPU inside halt exits (vm.exit), with the halts that ended while polling (kvm_vcpu_wakeup) and the"
        " setting."
    ),
    alternatives="Very many halts without polling, some microseconds each.",
    remedies="Lower halt_poll_ns for the whole host. It frees CPU time and adds 10 to 100 us to wake-ups.",
    verify="The same work has less vm.exit, and requests in the guests are no slower.",
    beats=("KVM-EXIT-STORM",),
)
def halt_polling(model: Model) -> Iterable[Outcome]:
    """Join exits for halts with the time polled and the setting."""
    if not runs_guests(model):
        yield from none_ran(model, ID, "polling for halted guests")
        return
    if silence := unknown(model, ID, "polling for halted guests is"):
        yield silence
        return
    halts = Exits(tuple(line for line in model.vm_exits if reason(line) in exit_names.HALTS and not line.user))
    polled_ns = sum(line.polled_ns for line in halts.lines)
    claims = limited(model, halts.claims)
    ns, setting_ns = sum(claims.values()), model.facts.halt_poll_ns
    share = ns / model.busy_ns if model.busy_ns else 0.0
    if not worth(model, ns) or setting_ns == 0 or not polled_ns:
        text = f"{duration(ns)} busy in {halts.count:,} halts, {percent(share)} of busy time"
        yield Check(ID, f"{text}, successful polling {duration(polled_ns)}", share, "share", large=False)
        return
    remedies = [fix("use fewer timers and wake-ups inside the guest")]
    if setting_ns:
        remedies.insert(0, setting(PARAMETER, "0", str(setting_ns)))
    yield conclude(
        model,
        claims,
        headline="The host polls for work of halted guests",
        claim=(
            f"The host polled {duration(ns)} for work of halted guests"
            + (f" (halt_poll_ns {setting_ns:,})." if setting_ns else ".")
        ),
        mechanism=Mechanism.WORK,
        departs=False,
        doubts=["" if setting_ns is not None else "the present halt_poll_ns is unknown"],
        evidence=[
            Evidence(
                f"{halts.count:,} halts ({per_second(model, halts.count):,.0f}/s): {duration(ns)} busy,"
                f" {duration(polled_ns)} of successful polling, {duration(model.ns('vm.halt'))} asleep",
                float(ns),
                "ns",
                "kvm_exit, kvm_vcpu_wakeup",
            )
        ],
        remedies=remedies,
        alternatives=["very many halts without polling"],
        verify=less(model, "vm.exit", ns),
    )
