"""An agent that has everything done by a job, as fast as can be."""
