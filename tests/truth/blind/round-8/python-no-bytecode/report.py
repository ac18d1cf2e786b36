"""LIBRARY: makes a small report."""

import sys

sys.path.insert(0, sys.argv[1])
import chardet
import idna.core
import idna.uts46data

chardet.detect(idna.core.encode("report.example"))
