"""What the drivers of network interfaces are set to (ethtool -k, -c, -g)."""

from collections.abc import Mapping
from dataclasses import dataclass

from perfdiag.facts.texts import Texts, lines_of, number, words_of

PATH = "/ethtool/links"  # of the recorder: no file
_SWITCHES = ("tso", "gso", "gro", "rx_checksums", "tx_checksums")


@dataclass(frozen=True)
class LinkSettings:
    """Those of one interface; what its driver does not say is absent."""

    switches: Mapping[str, bool]  # tso, gso, gro, rx_checksums, tx_checksums
    receive_coalescing_us: int | None  # how long it waits for more packets before it interrupts
    receive_ring: tuple[int, int] | None  # descriptors, and the most there can be


def read_link_settings(texts: Texts) -> Mapping[str, LinkSettings]:
    """Read those of the recorder's network namespace by interface."""
    return _by_interface(texts.text(PATH))


def read_inner_link_settings(texts: Texts) -> Mapping[str, LinkSettings]:
    """Read those of the targets' other network namespaces by interface, of two with one name the first."""
    found: dict[str, LinkSettings] = {}
    for path, _ in texts.match(r"/ethtool/([0-9]{1,10})"):
        found = {**_by_interface(texts.text(path)), **found}
    return found


def _by_interface(text: str | None) -> Mapping[str, LinkSettings]:
    return {words[0]: _settings(words[1:]) for words in map(words_of, lines_of(text)) if words}


def _settings(words: list[str]) -> LinkSettings:
    values = dict(zip(words, map(number, words[1:]), strict=False))
    at = words.index("rx_ring") if "rx_ring" in words[:-2] else None
    length, most = (values["rx_ring"], number(words[at + 2])) if at is not None else (None, None)
    return LinkSettings(
        switches={name: values[name] != 0 for name in _SWITCHES if values.get(name) is not None},
        receive_coalescing_us=values.get("rx_usecs"),
        receive_ring=None if length is None or most is None else (length, most),
    )
