"""Run one rule on a model and look at what it says: `finding`, `findings`, `check`, `silence`, and facts as known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from perfdiag.diagnosis.rule import Check, Confidence, Finding, Outcome, RemedyKind, Silence
from perfdiag.diagnosis.rules import RULES
from perfdiag.facts.host_facts import Facts
from perfdiag.facts.network_settings import Sysctl
from perfdiag.model.model import Model

from unit.support.never import forbidden

# About 75 characters; two long names, of files or peers, may make it longer.
LONGEST_HEADLINE = 110
HOUSE_WORDS = re.compile(r"\b(books?|claims?|neighbours?|parked|norms?|ledger)\b", re.I)


def outcomes(model: Model, id: str) -> list[Outcome]:
    """Return everything the rule says of the model."""
    return list(RULES[id].function(model))


def findings(model: Model, id: str) -> list[Finding]:
    """Return its findings, each of which must be sound."""
    found = [outcome for outcome in outcomes(model, id) if isinstance(outcome, Finding)]
    for each in found:
        assert_sound(model, each)
    return found


def finding(model: Model, id: str) -> Finding:
    """Return its only finding."""
    found = findings(model, id)
    assert len(found) == 1, [each.claim for each in found]
    return found[0]


def check(model: Model, id: str) -> Check:
    """Return its only check, when it says nothing else."""
    said = outcomes(model, id)
    assert len(said) == 1 and isinstance(said[0], Check), said
    return said[0]


def silence(model: Model, id: str) -> Silence:
    """Return its only silence, when it found nothing."""
    said = outcomes(model, id)
    assert not [each for each in said if isinstance(each, Finding)], said
    silent = [each for each in said if isinstance(each, Silence)]
    assert len(silent) == 1, said
    return silent[0]


def knowing(
    model: Model,
    *,
    vmstat: Mapping[str, int] | None = None,
    meminfo: Mapping[str, int] | None = None,
    sysctl: Mapping[str, str] | None = None,
    **facts: Any,
) -> Model:
    """Return the model with these host facts, and no others: rules are tested here, not parsers."""
    known = Facts.parse([])
    known.__dict__.update(facts)
    known.reasons.update({name: [] for name in facts})
    known.__dict__["vmstat_delta"] = (vmstat or {}).get
    known.__dict__["meminfo"] = (meminfo or {}).get
    known.__dict__["sysctl"] = (sysctl or {}).get
    known.__dict__["sysctls"] = lambda name: [
        Sysctl(value, None) for key, value in (sysctl or {}).items() if key == name
    ]
    return replace(model, facts=known)


def assert_sound(model: Model, each: Finding) -> None:
    """Assert what holds of every finding, whatever the rule."""
    rule = RULES[each.id]
    assert each.claim and "\n" not in each.claim and each.claim.isprintable(), each.claim
    assert_headline(each.headline)
    of_requests = model.request_time.accounts if model.request_time else {}
    for claim, ns in each.claims.items():
        account = claim if isinstance(claim, str) else claim[0]
        if account.startswith("request."):  # no account of threads
            assert 0 < ns <= of_requests[account], f"{each.id} claims more of {account} than there is"
            continue
        assert account in rule.accounts, f"{each.id} claims {account}, which its rule does not name"
        assert 0 < ns <= model.ns(account), f"{each.id} claims more of {account} than there is"
    assert each.evidence or not each.claims, f"{each.id} claims without evidence"
    assert each.remedies and each.remedies[0].kind is not RemedyKind.RISKY
    for remedy in each.remedies:
        assert remedy.text.isprintable() and not forbidden(remedy.text), remedy.text
        if remedy.kind is RemedyKind.TRY:
            assert remedy.undo and remedy.present_value, remedy
        if remedy.kind is RemedyKind.RISKY:
            assert remedy.risk, remedy
    assert each.verify
    assert each.confidence is Confidence.HIGH or each.limits or any(e.error is not None for e in each.evidence), each
    assert not any(limit == "" for limit in each.limits), each.limits


def assert_headline(text: str) -> None:
    """Assert that it is one short sentence without its full stop, in words of the field."""
    assert text and text.isprintable() and not text.endswith((".", ":", ";", ",")), text
    assert len(text) <= LONGEST_HEADLINE, (len(text), text)
    assert not HOUSE_WORDS.search(text), text


__all__ = ["assert_headline", "assert_sound", "check", "finding", "findings", "knowing", "outcomes", "silence"]
