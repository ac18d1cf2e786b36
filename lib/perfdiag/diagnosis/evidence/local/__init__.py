"""From a `Model` to what rules about other processes of this host have in common."""
