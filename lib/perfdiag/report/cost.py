"""What recording took from the host, and what was given up so that it took no more."""

from perfdiag.common.text import printable
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.model.coverage.budget import PARTS_PER_MILLION, is_kept
from perfdiag.model.coverage.coverage import FEATURES
from perfdiag.model.model import Model
from perfdiag.recording import schema
from perfdiag.report import contract


def cost(model: Model) -> contract.Cost | None:
    """Return the cost of a recording; None where it has no end."""
    spent, samples, options = model.cost, CpuSamples(model), model.header.options
    if spent is None:
        return None
    return contract.Cost(
        cpu_ns=spent.cpu_ns,
        rss_bytes=spent.resident_bytes,
        probes=[contract.Program(name=printable(p.name), runs=p.runs, ns=p.ns) for p in spent.programs],
        max_share=None if options.max_cost_ppm is None else options.max_cost_ppm / PARTS_PER_MILLION,
        share=_share(spent.kept_ns, spent.kept_of_ns),
        kept=is_kept(spent, options),
        given_up=[_given_up(model, line) for line in model.given_up],
        of_target=samples.recording.share if samples.count else None,
    )


def _share(ns: int | None, of_ns: int | None) -> float | None:
    return None if ns is None or not of_ns else ns / of_ns


def _given_up(model: Model, line: schema.GivenUp) -> contract.GivenUp:
    return contract.GivenUp(
        feature=printable(line.feature),
        what=printable(FEATURES.get(line.feature, (line.feature, ""))[0]),
        after_ns=max(0, line.at_ns - model.header.start_ns),
        one_of=line.one_of,
        per_second=line.per_second,
        share_before=_share(line.cost_ns, line.of_ns),
        share_after=_share(line.cost_after_ns, line.of_after_ns),
    )
