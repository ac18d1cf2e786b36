"""From the findings of a report to its verdict: the kind, and the sentences."""
