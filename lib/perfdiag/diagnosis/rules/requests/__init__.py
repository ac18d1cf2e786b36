"""From a `Model` to findings about requests that wait in the target; each module is named after its finding."""
