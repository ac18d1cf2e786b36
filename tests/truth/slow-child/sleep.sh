# A program that takes its time, and neither a CPU nor a disk.
sleep 0.3
