"""Steps measured in the gauge of a set of atoms."""
