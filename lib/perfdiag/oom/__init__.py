"""The OOM killer's reports in kernel logs: what they say, what caused them, why the victim was chosen."""
