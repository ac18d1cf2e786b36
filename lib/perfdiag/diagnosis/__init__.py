"""From a `Model` to a `Diagnosis`: findings that share out the target's busy time, checks, and what cannot be told."""
