"""Secrets that clients, services and people leave where a recorder looks: none of them is in anything it makes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from conftest import ROOT
from live.support.fixtures import Serving
from live.support.serving import Server, answered
from live.support.workload import PATIENCE_SECONDS
from unit.support.waiting import until

PROGRAM = ROOT / "build/bin/perfdiag"
PIECE = 8  # so many characters of a secret in a row are part of it
END = "\r\n\r\n"
HEADER = f" HTTP/1.1\r\nHost: localhost{END}"
WORDS = "/plain/words-and-more"

# What is sent, by the kind of secret; {} is the secret itself.
REQUESTS: Mapping[str, tuple[str, str]] = {
    "query": ("GET /query?token={}" + HEADER, "quietlanternharbor"),
    "second query": ("GET /query?a=b&password={}" + HEADER, "marblefalconriver"),
    "fragment": ("GET /fragment#{}" + HEADER, "copperwillowcanyon"),
    "route in a fragment": ("GET /#/reset/{}" + HEADER, "velvetanchormeadow"),
    "matrix parameter": ("GET /matrix;jsessionid={}" + HEADER, "amberthistlegrove"),
    "matrix parameter in the middle": ("GET /matrix;key={}/rest" + HEADER, "silverpebbleorchard"),
    "password of a URI": ("GET http://user:{}@host/proxied" + HEADER, "crimsonpuffinledge"),
    "user of a URI": ("GET https://{}@host/proxied" + HEADER, "indigobadgerhollow"),
    "host of a URI": ("GET http://{}/proxied" + HEADER, "umbrellabirdhost.invalid"),
    "URI without a path": ("GET http://user:{}@host" + HEADER, "ochrelynxterrace"),
    "authority in a path": ("GET //user:{}@host/proxied" + HEADER, "umberherongully"),
    "JWT": (
        "GET /verify/{}" + HEADER,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dozjgNryPT3J3jVmNHlw5N",
    ),
    "UUID": ("GET /users/{}/orders" + HEADER, "c9bf9e57-1685-4c89-bafb-ff5af830be8a"),
    "SHA-1": ("GET /blobs/{}" + HEADER, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    "hex without a digit in front": ("GET /blobs/{}" + HEADER, "deadbeefcafefadedfacade2"),
    "base64": ("GET /unsubscribe/{}" + HEADER, "c2VjcmV0OnBhc3N3b3Jk=="),
    "base64 of letters alone": ("GET /unsubscribe/{}" + HEADER, "QxWdTzPqLmNvBrYsKjHgFc"),
    "short base64 with a sign": ("GET /unsubscribe/{}" + HEADER, "QxWdTz+PqLmNv"),
    "key of AWS": ("GET /keys/{}" + HEADER, "AKIAIOSFODNN7EXAMPLE"),
    "secret key of AWS": ("GET /keys/{}" + HEADER, "wJalrXUtnFEMI%2FK7MDENG%2FbPxRfiCYEXAMPLEKEY"),
    "token of GitHub": ("GET /hook/{}" + HEADER, "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"),
    "token of Slack": ("POST /services/{}" + HEADER, "T01ABCDEF/B02GHIJKL/Xy3zQwErTyUiOpAsDfGhJkLz"),
    "key of Stripe": ("GET /keys/{}" + HEADER, "sk_live_4eC39HqLyjWDarjtT1zdp7dc"),
    "token of a bot": ("POST /bot{}/sendMessage" + HEADER, "110201543:AAHdqTcvCHGzWJxfSeofSAs"),
    "address of mail": ("GET /people/{}" + HEADER, "numbatquill@wildebeest.invalid"),
    "percent": ("GET /search/{}" + HEADER, "%6d%79%20%70%61%73%73"),
    "assignment": ("GET /a/apikey={}/b" + HEADER, "tawnyospreybasin"),
    "name and password": ("GET /login/{}/b" + HEADER, "admin:russetmartendell"),
    "number of a card": ("GET /cards/{}" + HEADER, "4111-1111-1111-1111"),
    "behind a version": ("GET /v1{}/b" + HEADER, "sablewombatfjord"),
    "capitals": ("GET /license/{}" + HEADER, "QWERTYUIOPASDFGHJKLZXCVB"),
    "part that is cut": ("GET /" + "a/" * 22 + "{}" + HEADER, "ivoryotterheathland"),
    "no version": ("GET /{}" + END, "pewtercranemoor"),
    "words without a version": ("GET /{} and more" + END, "ecrustoatmarsh"),
    "no path": ("GET {}" + HEADER, "jadeplovercove"),
    "path that does not begin": ("PUT {}/a" + HEADER, "russetibexdune"),
    "method that is none": ("POST{} /a" + HEADER, "LEMURGORGEPASS"),
    "tunnel": ("CONNECT {}:443" + HEADER, "axolotltunnel.invalid"),
    "other protocol": ("AUTH {}" + END, "onyxtapirsteppe"),
    "header": ("GET /headers HTTP/1.1\r\nAuthorization: Bearer {}" + END, "garnetquailtundra"),
    "cookie": ("GET /headers HTTP/1.1\r\nCookie: session={}" + END, "topazkestrelatoll"),
    "body": ("POST /body HTTP/1.1\r\nContent-Length: 20\r\n\r\n{}" + END, "cobaltmarmotglade"),
}
# What is not sent.
ANSWER, ARGUMENT, VARIABLE, DIRECTORY = (
    "zirconbisonsavanna",
    "opalgeckolagoon",
    "berylheronestuary",
    "agatemooseisthmus",
)
# The sources of mounts in a namespace of the server's own.
SOURCES: Mapping[str, str] = {
    "//server/share%{}": "limecaribouthicket",
    "bob%{}": "rubypelicandelta",
    "bob:{}@server:/share": "mauveocelotridge",
    "https://bob:{}@host/share": "tealbuzzardsummit",
    "https://host/share?token={}": "plumgannetwharf",
    "https://bob:a?{}@host/share": "lilacstoatspinney",
    "//server/share,password={}": "azuregrebecoppice",
    "share;key={}": "fawnlinnetbarrow",
}
OPTION = "greysiskinlagoon"  # a directory in an option
LOGGED, LOGGED_LAST, QUOTED = "onyxferretprairie", "pearlviperplateau", "umberlocustsandbar"
ELSEWHERE = (ANSWER, ARGUMENT, VARIABLE, DIRECTORY, LOGGED, LOGGED_LAST, QUOTED, OPTION)


def log(secret: str) -> None:
    """Write into the kernel's log what anybody who may would."""
    Path("/dev/kmsg").write_text(f"login: error: authentication failed, password was {secret}\n")


def have_the_kernel_log(secret: str, folder: Path) -> None:
    """Have the kernel quote an option that no file system has, as anybody may in a namespace of his own."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mount(b"none", bytes(folder), b"tmpfs", 0, f"{secret}: reset failed".encode()) != 0


def made(server: Server, folder: Path, *options: str) -> dict[str, str]:
    """Send everything while it is recorded, and return all that came of it."""
    recording, errors, output = folder / "made.rec", folder / "stderr", folder / "stdout"
    words = [PROGRAM, "latency", "--pid", str(server.pid), "--duration", "0", "--record", recording, "--json", *options]
    log(LOGGED)
    have_the_kernel_log(QUOTED, folder)
    with output.open("wb") as stdout, errors.open("wb") as stderr:
        recorder = subprocess.Popen(words, stdout=stdout, stderr=stderr)
    try:
        until(lambda: "recording" in errors.read_text(), "the window has begun")
        for text, secret in REQUESTS.values():
            with server.connect() as connection:
                connection.sendall(text.format(secret).encode())
                answered(connection)
        with server.connect() as connection:
            connection.sendall(f"GET {WORDS}{HEADER}".encode())
            answered(connection)
        log(LOGGED_LAST)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(PATIENCE_SECONDS) == 0, errors.read_text()
    finally:
        recorder.kill()
        recorder.wait()
    found = {path.name: path.read_bytes().decode() for path in (recording, errors, output)}
    for shape in ("", "--full", "--json"):
        run = subprocess.run([PROGRAM, "report", recording, *shape.split()], capture_output=True, text=True, check=True)
        found[f"report {shape}"] = run.stdout + run.stderr
    return found


@pytest.fixture
def server(serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server with secrets in its arguments, its environment, its answers and the path of what it writes."""
    if not os.access("/dev/kmsg", os.W_OK):
        pytest.skip("the kernel's log cannot be written here")
    monkeypatch.setenv("PASSWORD", VARIABLE)
    journal = tmp_path / DIRECTORY / "journal"
    journal.parent.mkdir()
    keeps = f"keeps({str(journal)!r}, b'Set-Cookie: {ANSWER}')"
    mounts = [("tmpfs", source.format(secret), "size=64k") for source, secret in SOURCES.items()]
    lower = tmp_path / OPTION
    lower.mkdir()
    mounts.append(("overlay", "planted", f"lowerdir={lower}:{journal.parent}"))
    place = tmp_path / "mounts"
    place.mkdir()
    apart = f"mount_apart({str(place)!r}, {mounts!r})"
    return serving(f"{apart}; argument = '{ARGUMENT}'; thread_each(listening(), {keeps})")


def test_no_secret_is_in_anything_that_is_made(server: Server, tmp_path: Path) -> None:
    """More than forty kinds: of none are so many characters in a row in recording, reports and messages."""
    found = made(server, tmp_path)
    secrets = [secret for _, secret in REQUESTS.values()] + [*SOURCES.values(), *ELSEWHERE]
    assert len(secrets) >= 40 and len(set(secrets)) == len(secrets)
    for secret in secrets:
        pieces = {secret[begin : begin + PIECE] for begin in range(len(secret) - PIECE + 1)} or {secret}
        for name, text in found.items():
            assert [piece for piece in pieces if piece in text] == [], (secret, name)
    places = ("//server/share", "https://host/share", "planted", "lowerdir=#")
    for name in ("GET /users/#/orders", "GET /proxied", "GET #", f"GET {WORDS}", *places):
        assert name in found["made.rec"], f"{name}: what was planted was looked at"


def test_without_names_of_requests_there_is_none(server: Server, tmp_path: Path) -> None:
    found = made(server, tmp_path, "--no-request-names")
    assert '"name":"(all names)"' in found["made.rec"] and "requests by name" in found["report --full"]
    for name, text in found.items():
        assert not [word for word in ("/users", "/proxied", WORDS) if word in text], name
