"""What a target did while it was not busy: asleep on a timer, waiting for work, blocked or idle."""
