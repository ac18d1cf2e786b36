"""Devices the target waits on, with their requests."""

from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, Backing, Requests, backing, device_of
from perfdiag.diagnosis.rule import Check, Claim, Outcome, Silence
from perfdiag.diagnosis.significance import (
    percent,
    total_ns,
    without_rows,
    worth,
)
from perfdiag.model.model import Model, Row

ASKED = ("read", "write", "flush")
AGAIN = "iostat -x 1   (busy disks)"


@dataclass(frozen=True)
class Waited:
    """A device the target waited on long enough."""

    where: Backing
    rows: list[Row]
    requests: Requests

    def claims(self, part: float) -> dict[Claim, int]:
        """Return this part of all waits on the device, by account and key."""
        sums: dict[Claim, int] = sums_by_key(
            ((row.account, row.key), round(row.distribution.sum_ns * part)) for row in self.rows
        )
        return {pair: ns for pair, ns in sums.items() if ns}


def waited(model: Model) -> list[Waited]:
    """Return the devices with long enough waits, longest first."""
    groups = groups_by_key((device_of(row), row) for row in model.rows_of(*DISK) if device_of(row))
    found = []
    for device, rows in sorted(groups.items(), key=lambda item: -total_ns(item[1])):
        if worth(model, total_ns(rows)):
            where = backing(model, device)
            found.append(Waited(where, rows, where.requests(model, *ASKED)))
    return found


def hardly_waits(model: Model, id: str, subject: str) -> Outcome:
    """Return the check of a target without disk waits, or the silence of one with waits on unknown devices."""
    share = model.share(*DISK)
    if worth(model, model.ns(*DISK)):
        known = any(device_of(row) for row in model.rows_of(*DISK))
        rowless = without_rows(model, id, *DISK)
        if rowless or not known:
            return rowless or Silence(id, f"{subject}: {percent(share)} of busy time waits for unknown disks", AGAIN)
    return Check(id, f"{subject}: disk waits {percent(share)} of busy time", share, "share")


def unmeasured(id: str) -> Silence:
    """Return the silence of a rule without measured requests."""
    return Silence(
        id, "queue and service times of block requests were not measured", "perfdiag check (feature block); iostat -x 1"
    )
