"""From a `Model` to what rules about requests that wait in the target have in common."""
