"""From a `Model` to what rules about NFS have in common."""
