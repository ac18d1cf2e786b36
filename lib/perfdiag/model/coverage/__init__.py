"""From a recording to how far it can be believed: what was lost, not measured or cannot be told."""
