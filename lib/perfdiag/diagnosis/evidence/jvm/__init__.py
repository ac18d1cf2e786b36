"""What a Java virtual machine stopped its threads for: its own counters joined with the ledger."""
