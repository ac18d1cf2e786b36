"""From a `Model` to what several rules need: joins, one subject a module, in the rooms of the rules."""
