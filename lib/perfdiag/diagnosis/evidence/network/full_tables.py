"""Packets that this host drops itself, because a table of its kernel is full: the kernel's log says so."""

from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.target import sysctl
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix
from perfdiag.facts.kernel_log import KERNEL_LOG
from perfdiag.facts.network_settings import Sysctl
from perfdiag.facts.texts import number
from perfdiag.model.model import Model

GROWN = 4  # times the present limit, to try


@dataclass(frozen=True)
class Table:
    """A table of the kernel without which packets do not go out, or connections do not begin."""

    name: str
    logged: str  # what the kernel says, at most ten times in five seconds, however much it drops
    drops: str
    setting: str  # its limit, as a path below /proc/sys
    empty: str  # what makes room without a larger limit


@dataclass(frozen=True)
class FullTable:
    """A table that was full in the window."""

    table: Table
    told: int  # times
    limit: int | None  # of entries
    enter: str  # the begin of a command that runs where that is set

    @property
    def headline(self) -> str:
        """Return it in one line."""
        return f"This host's {self._name} is full: it drops {self.table.drops}"

    @property
    def sentence(self) -> str:
        """Return it in words."""
        return f"This host's {self._name} is full, so the kernel drops {self.table.drops}."

    @property
    def _name(self) -> str:
        return f"{self.table.name} ({self.limit:,} entries)" if self.limit else self.table.name

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        text = f'"{self.table.logged}": logged {plural(self.told, "time")} in the window'
        return Evidence(text, float(self.told), "count", KERNEL_LOG)

    @property
    def remedies(self) -> list[Remedy]:
        """Return what makes room in the table."""
        setting = self.table.setting.replace("/", ".")
        larger = sysctl(setting, GROWN * self.limit, self.limit, self.enter) if self.limit else fix(f"raise {setting}")
        return [larger, fix(self.table.empty)]


CONNECTIONS = Table(
    name="conntrack table",
    logged="nf_conntrack: table full, dropping packet",
    drops="new connections",
    setting="net/netfilter/nf_conntrack_max",
    empty="close idle connections, or let the table forget them sooner (net.netfilter.nf_conntrack_tcp_timeout_*);"
    " conntrack -L shows whose they are",
)
NEIGHBOURS = Table(
    name="ARP table",
    logged="neighbor table overflow!",
    drops="packets to new addresses",
    setting="net/ipv4/neigh/default/gc_thresh3",
    empty="see who is in it (ip neigh), and have fewer addresses on one network; raise gc_thresh1 and gc_thresh2"
    " likewise",
)


def full_table(model: Model, *, several_peers: bool = False) -> FullTable | None:
    """Return the full table, None if the kernel did not say in the window that one is.

    Only several peers at once can be thought to have no entry in the ARP table: one alone may be behind a router, or
    have had its entry before.
    """
    log = model.facts.kernel_log
    lines = {CONNECTIONS: log.connections_dropped} if log else {}
    lines |= {NEIGHBOURS: log.neighbours_dropped} if log and several_peers else {}
    told = {table: sum(line.in_window is True for line in said) for table, said in lines.items()}
    table = max(told, key=lambda each: told[each], default=None)
    if table is None or not told[table]:
        return None
    # It is one for the whole kernel, so all namespaces that know it have the same.
    setting = next(iter(model.facts.sysctls(table.setting)), Sysctl("", None))
    limit = number(setting.value)
    return FullTable(table, told[table], limit if limit is not None and limit > 0 else None, setting.enter)
