"""Fills a folder with mail."""

import os

for number in range(16_000):
    os.close(os.open(f"spool/{'m' * 80}-{number}", os.O_CREAT | os.O_WRONLY, 0o644))
