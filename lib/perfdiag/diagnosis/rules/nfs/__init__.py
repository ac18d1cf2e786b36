"""From a `Model` to findings about NFS; each module is named after its finding."""
