"""What is never advised, whatever is found (LEDGER.md), and every text of the sources that could advise it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# Advice that is never given, each with a sentence that must be caught.
NEVER: dict[str, tuple[str, str]] = {
    "WAL on NFS": (r"journal_mode|\bWAL\b", "set journal_mode = WAL on the database"),
    "async exports": (r"\basync\b.{0,20}export|export.{0,40}\basync\b", "export /jobs with async"),
    "ZIL off": (r"zil_disable|sync\s*=\s*disabled|logbias", "zfs set sync=disabled tank"),
    "fsync off": (
        r"fsync\s*=\s*(off|0|false)|full_page_writes\s*=\s*off|eatmydata|synchronous\s*=\s*off"
        r"|synchronous_commit\s*=\s*off|innodb_flush_log_at_trx_commit\s*=\s*[02]|without fsync",
        "run it under eatmydata",
    ),
    "barriers off": (r"nobarrier|barrier\s*=\s*0|data=writeback|write_cache", "mount -o remount,nobarrier /"),
    "dropping caches": (r"drop_caches", "echo 3 > /proc/sys/vm/drop_caches"),
    "a forced clock": (
        r"tsc=reliable|clocksource=|>\s*\S*current_clocksource|notsc|hpet=force",
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    "killing": (r"kill -(9|KILL)|SIGKILL|pkill|killall", "kill -9 4121"),
    "no locks on NFS": (r"\bnolock\b|local_lock=all", "mount -o nolock nas1:/jobs"),
    "mitigations off": (r"mitigations=off|nopti\b|spectre_v2=off", "boot with mitigations=off"),
    "no OOM killer": (
        r"oom_kill_disable|-1000\b.*oom_score_adj|oom_score_adj\D{0,4}-1000",
        "echo -1000 > /proc/7/oom_score_adj",
    ),
    "safety off": (r"setenforce 0|iptables -F|nft flush|tcp_tw_recycle|rm -rf|mkfs|--force\b", "setenforce 0"),
    "swap off at once": (r"swapoff -a", "swapoff -a"),
}


def forbidden(text: str) -> list[str]:
    """Return what of the list a text advises; a sentence that says never (or "does not help") advises nothing."""
    sentences = [s for s in re.split(r"(?<=[.:;])\s", text) if not re.search(r"\bnever\b|not help", s, re.IGNORECASE)]
    return [
        name
        for name, (pattern, _) in NEVER.items()
        if any(re.search(pattern, sentence, re.IGNORECASE) for sentence in sentences)
    ]


def texts(path: Path) -> Iterator[str]:
    """Yield every sentence that a module could show: its texts, with "..." for what is put into them, without comments
    and the docstrings of functions.  A text without a blank is a name: of a file, an option, a function.
    """
    tree = ast.parse(path.read_text())
    hidden: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            hidden.add(node.value)  # a docstring
        if isinstance(node, ast.JoinedStr):
            hidden.update(inner for inner in ast.walk(node) if inner is not node)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "..." for part in node.values)
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if node not in hidden and " " in text:
            yield text


__all__ = ["NEVER", "forbidden", "texts"]
