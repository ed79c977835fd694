"""Benchmarks of `make bench`. Each figure is printed next to a baseline that is measured in the same run."""
