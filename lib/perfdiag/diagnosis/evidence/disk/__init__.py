"""From a `Model` to what rules about disks have in common."""
