"""Tests of the scripts of tools/, each with both versions of bpftrace, against workloads with known answers."""
