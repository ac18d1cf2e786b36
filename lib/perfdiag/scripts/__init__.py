"""The scripts of tools/: what their headers say, and the manual pages made of that."""
