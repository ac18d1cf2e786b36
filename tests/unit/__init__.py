"""Tests that need no privilege and no particular kernel."""
