"""One thing that is tried in vain before threads sleep, in the words of a report."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Failure:
    """One thing that is tried in vain."""

    now: str  # "bind() of 10.0.0.1:80 fails (EADDRNOTAVAIL)"
    before: str  # "bind() of 10.0.0.1:80 failed (EADDRNOTAVAIL)"
    short: str  # "bind() of 10.0.0.1:80: EADDRNOTAVAIL"
    sleepers: str  # "threads sleep before they try again"
    such: str  # "such a failure"
    why: str  # "EADDRNOTAVAIL: this host has no such address"
    remedy: str
    fixed: str  # "bind() succeeds"
    expected: bool  # nothing may be wrong
    standby: bool  # somebody who waits for its turn looks the same
    hook: str
