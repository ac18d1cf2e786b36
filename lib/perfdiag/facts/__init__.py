"""From the recorded texts of /proc, /sys and kernel logs to typed facts about the host."""
