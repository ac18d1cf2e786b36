"""Live tests on stock kernels: workloads and recorder run in an emulated guest, what they say is checked here."""
