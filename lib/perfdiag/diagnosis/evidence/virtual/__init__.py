"""From a `Model` to what rules about guests and their hosts have in common."""
