"""UNEXPLAINED: time without a known cause."""

from collections.abc import Iterable

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    EvidenceKind,
    Mechanism,
    Outcome,
    rule,
)
from perfdiag.diagnosis.significance import (
    duration,
    fix,
    percent,
    plain,
    top,
)
from perfdiag.model.model import Model

UNEXPLAINED = "unexplained"


@rule(
    "UNEXPLAINED",
    title="Time without a known cause",
    accounts=(UNEXPLAINED,),
    meaning=(
        "Time between two switches of a thread without a known reason. It is always printed, and above 1 % of busy"
        " time it limits every other finding."
    ),
    measured="The account unexplained, with the kernel functions sampled there.",
    alternatives="Lost records, or a kernel function unknown to perfdiag.",
    remedies="Record it (--record) and report the kernel functions.",
    verify="unexplained is under 1 % in the next report.",
    met=False,
)
def unexplained(model: Model) -> Iterable[Outcome]:
    """Report unexplained time with its kernel functions."""
    taken_ns, part = model.ns(UNEXPLAINED), model.share(UNEXPLAINED)
    if part < general_policy.unexplained_share:
        yield Check("UNEXPLAINED", f"unexplained {percent(part)} of busy time", part, "share")
        return
    functions = sums_by_key(
        (plain(stack.kernel[0]), stack.weight_ns) for stack in model.wait_stacks(UNEXPLAINED) if stack.kernel
    )
    evidence = [Evidence(f"{duration(taken_ns)} unexplained", float(taken_ns), "ns", "ledger")]
    if functions:
        evidence.append(
            Evidence(
                f"{top(functions)} (kernel functions)",
                float(sum(functions.values())),
                "ns",
                "stack samples",
                kind=EvidenceKind.FUNCTIONS,
            )
        )
    yield conclude(
        model,
        {UNEXPLAINED: taken_ns},
        headline=f"{percent(part)} of busy time has no known cause",
        claim=f"The cause of {duration(taken_ns)} is unknown, {percent(part)} of busy time.",
        mechanism=Mechanism.OTHERS,
        departs=False,
        doubts=[f"{percent(part)} of busy time has no known cause", "" if functions else "no stack of it was sampled"],
        evidence=evidence,
        remedies=[fix(_report_it(model))],
        alternatives=["lost records"],
        verify=measured(model, f"unexplained under {percent(general_policy.unexplained_share)}, now {percent(part)}"),
    )


def _report_it(model: Model) -> str:
    """Return how to report the unknown kernel functions."""
    if model.header.options.stacks == "all":
        return "report the kernel functions above (--full): perfdiag does not know them"
    return f"{again(model, '--stacks --record FILE')}, and report its kernel functions"
