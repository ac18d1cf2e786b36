"""From the accounts of each thread as recorded to their final ones: CPU time split, proven waits moved."""
