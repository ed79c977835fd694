"""Admin of evaluations: the list of runs, and the page of one run with its cases."""
