"""Settings of the kernel that each network namespace has for itself: files below /proc/sys/net."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from perfdiag.facts.texts import Texts, lines_of

PATTERN = r"/network_settings/([0-9]{1,10})"  # of the recorder: no file
NAMESPACES = "/proc/[0-9]*/ns"  # has an error where the recorder could not learn in which ones the targets live
_OWN = "own"
_MOST = 64  # targets that a recorder tells of


@dataclass(frozen=True)
class NetworkNamespace:
    """One in which targets live."""

    pid: int  # one of them
    own: bool  # it is the recorder's, too: the settings are in the recorder's files
    settings: Mapping[str, str] | None  # those that can be set there: "net/ipv4/tcp_sack"; None: not known
    error: str  # why not


@dataclass(frozen=True)
class Sysctl:
    """One setting in one of them."""

    value: str
    pid: int | None  # a process in whose network namespace it is so; None: where the recorder ran

    @property
    def enter(self) -> str:
        """Return the begin of a command that is to run there."""
        return "" if self.pid is None else f"nsenter -t {self.pid} -n "


def read_network_namespaces(texts: Texts) -> Sequence[NetworkNamespace]:
    """Read those of all targets; none in recordings that do not tell of them."""
    return [_namespace(texts, path, int(match[1])) for path, match in islice(texts.match(PATTERN), _MOST)]


def read_sysctls(texts: Texts, namespaces: Sequence[NetworkNamespace], name: str) -> Sequence[Sysctl]:
    """Return a setting, "net/ipv4/tcp_sack", in each network namespace of the targets in which it is known."""
    if texts.errors(NAMESPACES):
        return []
    if not namespaces:
        return _own(texts, name)
    found = (each for namespace in namespaces for each in _in(texts, namespace, name))
    return list(dict.fromkeys(found))


def _namespace(texts: Texts, path: str, pid: int) -> NetworkNamespace:
    text, error = texts.text(path), next(iter(texts.errors(path)), "")
    return NetworkNamespace(pid, (text or "").strip() == _OWN, None if text is None else _settings(text), error)


def _in(texts: Texts, namespace: NetworkNamespace, name: str) -> Sequence[Sysctl]:
    if namespace.settings is None:
        return []
    value = None if namespace.own else namespace.settings.get(name)
    # What cannot be set there is one of the whole kernel.
    return _own(texts, name) if value is None else [Sysctl(value, namespace.pid)]


def _own(texts: Texts, name: str) -> Sequence[Sysctl]:
    value = texts.word_if_recorded(f"/proc/sys/{name}")
    return [] if value is None else [Sysctl(value, None)]


def _settings(text: str) -> Mapping[str, str]:
    return dict(_pairs(text))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in lines_of(text):
        name, _, value = line.partition(" ")
        if value.strip():
            yield f"net/{name}", value.strip()
