"""All settings that are unusual and bear on much of the target's time, and what sets them back."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import islice

from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Finding, account_of
from perfdiag.diagnosis.settings.block_devices import block_devices
from perfdiag.diagnosis.settings.boot_options import boot_options
from perfdiag.diagnosis.settings.cache_misses import cache_misses
from perfdiag.diagnosis.settings.interfaces import interfaces
from perfdiag.diagnosis.settings.kernel_settings import kernel_settings, swap_order, used_up
from perfdiag.diagnosis.settings.mount_options import mount_options
from perfdiag.diagnosis.settings.network_counters import network_counters
from perfdiag.diagnosis.settings.processes import processes
from perfdiag.diagnosis.settings.unusual import Unusual
from perfdiag.model.model import Model, once
from perfdiag.model.share_denominator import whole_ns

MOST = 32  # that are told
_MOST_OF_SOURCE = 1024  # that are looked at: a forged recording may have millions
# The nearest to the target first: of as much time these tell more than what is set for the whole host.
_SOURCES: Sequence[Callable[[Model], Iterable[Unusual]]] = (
    cache_misses,
    mount_options,
    block_devices,
    processes,
    interfaces,
    network_counters,
    used_up,
    swap_order,
    kernel_settings,
    boot_options,
)


@once
def unusual_settings(model: Model) -> list[Unusual]:
    """Return them, those that bear on most time first."""
    least_ns = general_policy.setting_share * whole_ns(model)
    looked_at = (each for source in _SOURCES for each in islice(source(model), _MOST_OF_SOURCE))
    return nlargest(MOST, (each for each in looked_at if each.ns > 0 and each.ns >= least_ns), key=lambda each: each.ns)


def with_settings(model: Model, findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with what sets back the unusual setting that bears on most of them, as the second remedy: the
    setting may be meant, and the first one goes to the cause that is proven. Where a setting explains the time of a
    finding, its headline says so, and what can be undone, or loses nothing, stands first."""
    reasons = explained(model, findings)
    untold = _untold(model, findings)
    return [_with_setting(each, untold, reasons.get(index)) for index, each in enumerate(findings)]


def explained(model: Model, findings: Sequence[Finding]) -> dict[int, Unusual]:
    """Return by the place of a finding the setting that explains most of its time; each setting once."""
    found: dict[int, Unusual] = {}
    for setting in _untold(model, findings):
        places = (at for at, each in enumerate(findings) if _bears_on(each, setting, setting.explains))
        found |= {at: setting for at in islice(places, 1) if at not in found}
    return found


def _untold(model: Model, findings: Sequence[Finding]) -> list[Unusual]:
    """Return the settings that no finding is about."""
    ids = {each.id for each in findings}
    return [each for each in unusual_settings(model) if ids.isdisjoint(each.told_by)]


def _with_setting(finding: Finding, settings: Sequence[Unusual], reason: Unusual | None) -> Finding:
    if reason is not None:
        remedy = reason.remedy if reason.loses_nothing and reason.remedy not in finding.remedies else None
        remedies = [*([remedy] if remedy else []), *finding.remedies]
        finding = replace(finding, headline=f"{finding.headline}, as {reason.text}", remedies=remedies)
    may_help = (each.remedy for each in settings if _bears_on(finding, each, each.accounts))
    more = [each for each in may_help if each and each not in finding.remedies][:1]
    return replace(finding, remedies=[*finding.remedies[:1], *more, *finding.remedies[1:]])


def _bears_on(finding: Finding, setting: Unusual, accounts: Sequence[str]) -> bool:
    """Return whether a setting may have made most of the time of a finding longer, as far as that is in `accounts`."""
    shared_ns = sum(ns for claim, ns in finding.claims.items() if account_of(claim) in accounts)
    return min(setting.ns, shared_ns) > sum(finding.claims.values()) / 2
