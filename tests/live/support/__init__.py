"""What the live tests share: workloads, the recorder, slow disks and cgroups, and the laws of a recording."""
