"""Graph of a workflow's run, for staff: its nodes with their states, and a list of their runs."""
