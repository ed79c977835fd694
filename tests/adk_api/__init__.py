"""Public names of google-adk, and those of them that `runtime` has."""
