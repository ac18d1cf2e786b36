"""Puts the release where $Id$ stands in a file that is checked out: standard input to standard output."""

import os
import sys

text = sys.stdin.read()
sys.stdout.write(text.replace("$Id$", f"$Id: {os.environ.get('RELEASE', 'head')} $"))
