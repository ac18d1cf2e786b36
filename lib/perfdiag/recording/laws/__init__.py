"""From the lines of a recording to its contradictions: what no recorder could have measured."""
