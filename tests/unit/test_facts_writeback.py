"""Settings of backing devices."""

from __future__ import annotations

from perfdiag.facts.host_facts import WritebackLimits

from unit.support.facts import facts

BDI = "/sys/class/bdi"


def test_settings_by_device() -> None:
    """Kernels before 6.2 do not show strict_limit; "btrfs-1" is the device of nothing that is waited for by number."""
    texts = {
        f"{BDI}/8:16/max_ratio": "100\n",
        f"{BDI}/0:45/max_ratio": "1\n",
        f"{BDI}/0:45/strict_limit": "1\n",
        f"{BDI}/btrfs-1/max_ratio": "100\n",
    }
    assert facts(texts).writeback_limits == {
        "8:16": WritebackLimits("8:16", max_ratio=100, strict=None),
        "0:45": WritebackLimits("0:45", max_ratio=1, strict=True),
    }


def test_none_recorded_is_none_known() -> None:
    assert facts({f"{BDI}/8:16/max_ratio": "?"}).writeback_limits["8:16"].max_ratio is None
    assert facts().writeback_limits == {}
