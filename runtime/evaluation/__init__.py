"""Evaluation of agents: eval sets and criteria in google-adk's JSON, their metrics, and the run of a case in memory."""
