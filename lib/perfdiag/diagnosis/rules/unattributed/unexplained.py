"""A rule on time that the ledger found no account for."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Outcome,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import (
    duration,
    fix,
    judged,
    percent,
    plain,
    top,
)
from perfdiag.model.model import Model

UNEXPLAINED = "unexplained"

# The ledger's own law: more than one in a hundred unexplained is said, always.
EXPLAINED_SHARE = 0.01


@rule(
    "UNEXPLAINED",
    title="Time that no account could be shown for",
    accounts=(UNEXPLAINED,),
    meaning="Time between two switches of a thread for which the ledger found no reason. It is printed and never"
    " hidden; above a hundredth of the busy time it limits what every other finding may say.",
    measured="The account unexplained over the window, with the kernel functions sampled there.",
    alternatives="Lost records; a kernel function the ledger does not know.",
    remedies="Record it (--record) and report it with the functions named.",
    verify="perfdiag latency again: unexplained under 1 %.",
)
def unexplained(model: Model) -> Iterable[Outcome]:
    """Say how much is unexplained, and where its stacks stood."""
    taken_ns, part = model.ns(UNEXPLAINED), model.share(UNEXPLAINED)
    if part < EXPLAINED_SHARE:
        yield Check("UNEXPLAINED", f"unexplained {percent(part)} of busy time", part, "share")
        return
    functions: dict[str, int] = {}
    for stack in model.wait_stacks(UNEXPLAINED):
        if stack.kernel:
            name = plain(stack.kernel[0])
            functions[name] = functions.get(name, 0) + stack.weight_ns
    evidence = [Evidence(f"{duration(taken_ns)} in no account", float(taken_ns), "ns", "ledger")]
    if functions:
        evidence.append(
            Evidence(
                f"stacks stood in {top(functions)}",
                float(sum(functions.values())),
                "ns",
                "stack samples",
                kind=EvidenceKind.FUNCTIONS,
            )
        )
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [f"{percent(part)} of the busy time has no cause", "" if functions else "no stack of it was sampled"],
    )
    yield Finding(
        "UNEXPLAINED",
        Severity.INFO,
        confidence,
        f"{duration(taken_ns)} ({percent(part)} of the busy time) could not be explained: no finding speaks for it.",
        {UNEXPLAINED: taken_ns},
        evidence,
        [fix(_report_it(model))],
        alternatives=["lost records"],
        limits=limits,
        verify=f"{again(model)}: unexplained under 1 %",
        headline=f"{percent(part)} of busy time could not be explained",
        mechanism=Mechanism.OTHERS,
    )


def _report_it(model: Model) -> str:
    """Return how the function that no account knows becomes known to who can mend it."""
    if model.header.options.stacks == "all":
        return "report the kernel functions that --full shows for it: the ledger does not know them"
    return f"{again(model, '--stacks --record FILE')}, and report the kernel functions it shows"


__all__ = ["unexplained"]
