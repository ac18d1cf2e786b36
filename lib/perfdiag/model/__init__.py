"""From the lines of a recording to one `Model`: threads, ledger, waits, requests, stacks and coverage, joined."""
