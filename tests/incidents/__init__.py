"""The benchmark of diagnoses: faults made for real, and whether the first finding names them."""
