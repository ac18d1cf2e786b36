"""The packages, installed in clean roots of Debian 12, 13 and testing."""
