"""Datagrams that sockets of UDP dropped, as /proc/PID/net/udp counts them."""

from collections.abc import Mapping

from perfdiag.facts.texts import Texts, lines_of, words_of

PATTERN = r"/proc/([0-9]+|self)/net/udp6?"
_WORDS, _LOCAL, _INODE, _DROPS = 13, 1, 9, 12


def read_udp_drops(texts: Texts) -> Mapping[int, int] | None:
    """Return how many datagrams were dropped in the window, by local port, in the targets' network namespaces; None
    where that was not recorded. Of a socket that ended in it nothing is known, nor of one that was made in it where
    there were too many sockets to be recorded."""
    known = [path for path, _ in texts.match(PATTERN) if all(texts.text(path, each) for each in ("begin", "end"))]
    if not known:
        return None
    found: dict[int, int] = {}
    for path in known:
        begin = {inode: drops for inode, _, drops in _sockets(texts.text(path, "begin"))}
        for inode, port, drops in _sockets(texts.text(path, "end")):
            if inode in begin or not texts.is_cut_off(path, "begin"):
                found[port] = found.get(port, 0) + max(0, drops - begin.get(inode, 0))
    return {port: drops for port, drops in found.items() if drops}


def _sockets(text: str | None) -> list[tuple[int, int, int]]:
    """Return inode, local port and drops of each socket."""
    found = []
    for line in lines_of(text)[1:]:
        words = words_of(line)
        if len(words) != _WORDS or not words[_INODE].isdecimal() or not words[_DROPS].isdecimal():
            continue
        try:
            port = int(words[_LOCAL].rpartition(":")[2], 16)
        except ValueError:
            continue
        found.append((int(words[_INODE]), port, int(words[_DROPS])))
    return found


__all__ = ["read_udp_drops"]
