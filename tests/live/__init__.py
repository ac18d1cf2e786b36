"""Tests on this kernel, as root: workloads with known answers, recorded for real."""
