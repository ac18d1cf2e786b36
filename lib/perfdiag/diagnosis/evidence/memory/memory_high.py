"""Waits caused by memory.high of the control group."""

from perfdiag.model.model import Model, Row

CGROUP, HIGH = "memory.cgroup", "limit:high"


def high_rows(model: Model) -> list[Row]:
    """Return the rows of memory.cgroup caused by memory.high."""
    rows = model.rows_of(CGROUP)
    if any(row.key.startswith("limit:") for row in rows):
        return [row for row in rows if row.key == HIGH]
    hit = [group.events for group in model.facts.memory_groups]
    only_high = any(events.get("high", 0) for events in hit) and not any(events.get("max", 0) for events in hit)
    return rows if only_high else []
