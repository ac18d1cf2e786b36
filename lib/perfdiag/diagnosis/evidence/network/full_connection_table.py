"""Packets that this host drops itself, as its firewall's table of connections is full: the kernel's log says so."""

from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.target import sysctl
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix
from perfdiag.facts.kernel_log import KERNEL_LOG
from perfdiag.model.model import Model

MOST = "net/netfilter/nf_conntrack_max"
GROWN = 4  # times the present limit, to try


@dataclass(frozen=True)
class FullTable:
    """The table of connections (nf_conntrack) was full in the window."""

    told: int  # times: the kernel says so at most ten times in five seconds, however much it drops
    limit: int | None  # of connections

    @property
    def headline(self) -> str:
        """Return it in one line."""
        return f"This host drops new connections: its {self._table} is full"

    @property
    def sentence(self) -> str:
        """Return it in words."""
        return f"This host's {self._table} is full, so the kernel drops new connections."

    @property
    def _table(self) -> str:
        return f"conntrack table ({self.limit:,} entries)" if self.limit else "conntrack table"

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        text = f'"nf_conntrack: table full, dropping packet": logged {plural(self.told, "time")} in the window'
        return Evidence(text, float(self.told), "count", KERNEL_LOG)

    @property
    def remedies(self) -> list[Remedy]:
        """Return what makes room in the table."""
        idle = fix(
            "close idle connections, or let the table forget them sooner (net.netfilter.nf_conntrack_tcp_timeout_*);"
            " conntrack -L shows whose they are"
        )
        if not self.limit:
            return [fix("raise net.netfilter.nf_conntrack_max"), idle]
        return [sysctl(MOST.replace("/", "."), GROWN * self.limit, self.limit), idle]


def full_table(model: Model) -> FullTable | None:
    """Return the full table, None if the kernel did not say in the window that it is."""
    log = model.facts.kernel_log
    told = sum(line.in_window is True for line in log.connections_dropped) if log else 0
    limit = model.facts.sysctl(MOST) or ""
    return FullTable(told, int(limit) if limit.isdecimal() else None) if told else None
