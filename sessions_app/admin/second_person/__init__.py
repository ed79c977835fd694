"""Four eyes: acts of staff to which a second member of staff must agree, and the list of their requests."""
