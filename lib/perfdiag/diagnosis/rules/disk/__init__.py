"""From a `Model` to findings about disks; each module is named after its finding."""
