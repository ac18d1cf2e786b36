"""From the recorded stacks to names of functions and classes of waits."""
