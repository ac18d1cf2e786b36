"""From the stacks and futexes of waits to what was waited for, and behind whom."""
