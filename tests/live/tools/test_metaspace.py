"""metaspace.bt: every class is counted, and so is every collection that is for classes."""

from __future__ import annotations

import pytest

from live.support.fixtures import Cleanup, Trace
from live.support.java import SERIAL, Java, need_java

pytestmark = pytest.mark.may_skip("java")


def test_a_class_that_is_loaded_again_and_again(cleanup: Cleanup, trace: Trace) -> None:
    """The JVM counts collections of its whole heap, which has room for everything but classes."""
    need_java()
    java = cleanup.enter_context(Java("Classes", 5000, options=[*SERIAL, "-XX:MetaspaceSize=12m"]))
    script = trace("metaspace", java)
    truth = java.run()
    seen = script.stop(example=True)
    [loaded] = [value for key, value in seen.maps["@loaded"].items() if key[0].startswith("Classes$Copie")]
    [unloaded] = [value for key, value in seen.maps["@unloaded"].items() if key[0].startswith("Classes$Copie")]
    assert loaded == truth["loaded"] == 5000 and unloaded == truth["unloaded"] == 5000
    collections = seen.stats("@for_classes", "CollectForMetadataAllocation")
    assert collections.count == truth["full_collections"] > 0
    assert 0 < collections.total < truth["elapsed_ns"]
    used_bytes = seen.number("@used_bytes", "Metaspace")
    assert used_bytes == pytest.approx(truth["used_bytes"], rel=0.05)
    assert seen.unseen == 0


def test_who_loads_no_classes(cleanup: Cleanup, trace: Trace) -> None:
    need_java()
    java = cleanup.enter_context(Java("Collections", 1000, 7))
    script = trace("metaspace", java)
    java.run()
    seen = script.stop()
    assert "@for_classes" not in seen.maps and seen.number("@used_bytes", "Metaspace") > 0
