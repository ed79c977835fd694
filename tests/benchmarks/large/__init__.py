"""A Django app for the benchmarks of large things: long histories, long answers, large results of tools."""
