"""What all parts of a report have in common."""

from typing import Annotated

import msgspec

Untrusted = Annotated[str, msgspec.Meta(extra_json_schema={"untrusted": True})]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Base of everything in a report."""
