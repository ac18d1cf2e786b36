"""revoke.py COUNT: makes crl.pem of ca.pem and ca.key, a list of so many certificates that are not valid any more."""

import base64
import subprocess
import sys
import time


def der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    size = len(body)
    if size < 128:
        return bytes([tag, size]) + body
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + body


def instant(days: float) -> bytes:
    return der(0x17, time.strftime("%y%m%d%H%M%SZ", time.gmtime(time.time() + days * 86400)).encode())


ALGORITHM = der(0x30, bytes.fromhex("06082a8648ce3d040302"))  # ecdsa-with-SHA256
ISSUER = der(0x30, der(0x31, der(0x30, bytes.fromhex("0603550403"), der(0x0C, b"perfdiag CA"))))
EARLIER = instant(-20)
revoked = b"".join(
    der(0x30, der(0x02, (0x10 << 112 | serial * 0x9E3779B97F4A7C15).to_bytes(15, "big")), EARLIER)
    for serial in range(1, int(sys.argv[1]) + 1)
)
listed = der(0x30, der(2, b"\1"), ALGORITHM, ISSUER, instant(-1), instant(300), der(0x30, revoked))
signed = subprocess.run(
    ["openssl", "dgst", "-sha256", "-sign", "ca.key"], input=listed, capture_output=True, check=True
)
text = base64.encodebytes(der(0x30, listed, ALGORITHM, der(3, b"\0" + signed.stdout))).decode()
with open("crl.pem", "w") as file:
    file.write(f"-----BEGIN X509 CRL-----\n{text}-----END X509 CRL-----\n")
