"""From the recordings of a guest and of its host to one model of both, and the names of exits."""
