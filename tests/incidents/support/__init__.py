"""What makes an incident of a folder, judges its report and counts."""
