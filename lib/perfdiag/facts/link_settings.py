"""What the drivers of this host's network interfaces are set to (ethtool -k, -c, -g)."""

from collections.abc import Mapping
from dataclasses import dataclass

from perfdiag.facts.texts import Texts, lines_of, number, words_of

PATH = "/ethtool/links"  # of the recorder: no file
_SWITCHES = ("tso", "gso", "gro", "rx_checksums", "tx_checksums")
_WAYS = ("rx", "tx")


@dataclass(frozen=True)
class LinkSettings:
    """Those of one interface; what its driver does not say is absent."""

    switches: Mapping[str, bool]  # tso, gso, gro, rx_checksums, tx_checksums
    coalescing_us: Mapping[str, int]  # "rx", "tx": how long it waits for more packets before it interrupts
    rings: Mapping[str, tuple[int, int]]  # "rx", "tx": descriptors, and the most there can be


def read_link_settings(texts: Texts) -> Mapping[str, LinkSettings]:
    """Read them by interface."""
    return {words[0]: _settings(words[1:]) for words in map(words_of, lines_of(texts.text(PATH))) if words}


def _settings(words: list[str]) -> LinkSettings:
    values = dict(zip(words, map(number, words[1:]), strict=False))
    known = {name: value for name, value in values.items() if value is not None}
    most = {way: number(words[words.index(f"{way}_ring") + 2]) for way in _WAYS if f"{way}_ring" in words[:-2]}
    return LinkSettings(
        switches={name: known[name] != 0 for name in _SWITCHES if name in known},
        coalescing_us={way: known[f"{way}_usecs"] for way in _WAYS if f"{way}_usecs" in known},
        rings={way: (known[f"{way}_ring"], limit) for way, limit in most.items() if limit and f"{way}_ring" in known},
    )
