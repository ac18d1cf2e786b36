# The truths of two workloads as one.
sed 's/^{//; s/}$//' | tr '\n' ',' | sed 's/^/{/; s/,$/}\n/'
