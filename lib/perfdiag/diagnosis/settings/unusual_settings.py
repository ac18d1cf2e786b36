"""All settings that are unusual and bear on much of the target's time, and what sets them back."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import islice

from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Finding, account_of
from perfdiag.diagnosis.settings.block_devices import block_devices
from perfdiag.diagnosis.settings.boot_options import boot_options
from perfdiag.diagnosis.settings.interfaces import interfaces
from perfdiag.diagnosis.settings.kernel_settings import kernel_settings, used_up
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
    mount_options,
    block_devices,
    processes,
    interfaces,
    network_counters,
    used_up,
    kernel_settings,
    boot_options,
)


@once
def unusual_settings(model: Model) -> list[Unusual]:
    """Return them, those that bear on most time first."""
    least_ns = general_policy.setting_share * whole_ns(model)
    looked_at = (each for source in _SOURCES for each in islice(source(model), _MOST_OF_SOURCE))
    return nlargest(MOST, (each for each in looked_at if each.ns > 0 and each.ns >= least_ns), key=lambda each: each.ns)


def with_settings(model: Model, finding: Finding) -> Finding:
    """Return a finding with what sets back the unusual setting that bears on most of it, as the second remedy: the
    setting may be meant, and the first one goes to the cause that is proven."""
    most_ns = sum(finding.claims.values()) / 2
    may_help = [each for each in unusual_settings(model) if each.remedy and _shared_ns(finding, each) > most_ns]
    remedies = [each.remedy for each in may_help if each.remedy and each.remedy not in finding.remedies][:1]
    return replace(finding, remedies=[*finding.remedies[:1], *remedies, *finding.remedies[1:]])


def _shared_ns(finding: Finding, setting: Unusual) -> int:
    return min(setting.ns, sum(ns for claim, ns in finding.claims.items() if account_of(claim) in setting.accounts))
