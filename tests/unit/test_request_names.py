"""What requests are called: routes stay apart, and what clients put into them is not kept."""

from __future__ import annotations

import functools
import re
import string
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT
from unit.support.c_programs import build, environment

ROUTES = ROOT / "tests/data/public-routes.txt"
VALUES = {
    "branch": "main",
    "charge": "ch_3MmlLrLkdIwHu7ix0snN0B15",
    "customer": "cus_NffrFeUfNV2Hib",
    "digest": "sha256:6e49841ad9e720a7baedcd41f9b666fcd7b583151d0763fe78101bb8221b1d88",
    "encoded": "lib%2Fclass%2Erb",
    "hash": "aa5a315d61ae9438b18d",
    "index": "products",
    "intent": "pi_3MtwBwLkdIwHu7ix28a3tqPa",
    "invoice": "in_1MtHbELkdIwHu7ixl4OzzPMv",
    "label": "job",
    "login": "octocat",
    "namespace": "kube-system",
    "node": "ip-10-0-3-17.ec2.internal",
    "number": "1347",
    "pod": "coredns-7db6d8ff4d-x2v9q",
    "repository": "Hello-World",
    "sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
    "slug": "web-frontend",
    "subscription": "sub_1MowQVLkdIwHu7ixeRlqHVzs",
    "uid": "cIBgcSjkk",
}


@functools.cache
def program() -> Path:
    """Return what reads request lines and prints names: the recorder's own function, compiled once."""
    return build("name_requests", "sanitized")


def names_of(lines: Iterable[str]) -> list[str]:
    """Return what requests with these lines are called."""
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run([program()], input=text, capture_output=True, text=True, env=environment())
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


def test_public_routes_stay_apart() -> None:
    templates = [line for line in ROUTES.read_text().splitlines() if line and not line.startswith("#")]
    assert len(templates) == len(set(templates)) == 200
    routes = [template.format_map(VALUES) for template in templates]
    counted = Counter(names_of(routes))
    print(*(f"{count} {name}" for name, count in counted.items() if count > 1), sep="\n")
    assert len(counted) >= 0.95 * len(templates)


SECRETS = [
    "GET /{}9",
    "GET /a/b?token={}",
    "GET /a;jsessionid={}",
    "GET /a;v=1/{}",
    "GET /a#{}",
    "GET http://user:{}@host/path",
    "GET http://{}/path",
    "GET http://{}",
    "GET ftp:/{}",
    "GET //user:{}@host/path",
    "GET {}/a",
    "GET /a {}",
    "GET /a/key={}/b",
    "GET /user@{}/b",
    "GET /%41{}/b",
    "GET /{0}+{0}",
    "GET /v1{}",
    "GET /bot12:{}/send",
    "CONNECT {}:443",
    "{} /a",
    "POST{} /a",
]


@given(secret=st.text(string.ascii_letters, min_size=9, max_size=24))
def test_nothing_of_a_secret_is_kept(secret: str) -> None:
    for name in names_of(template.format(secret) for template in SECRETS):
        kept = re.sub(r"(?<![^ /])(GET|path|send|a|b)(?![^ /])", "", name)
        assert not set(kept) - set("/# ."), name
