"""From the lines of a kernel log to typed reports of the OOM killer."""
