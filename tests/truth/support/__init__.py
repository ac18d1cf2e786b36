"""What starts a row's servers, asks them, records them, and holds the report against what was done."""
