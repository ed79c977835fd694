"""Evaluation of agents: eval sets and criteria in google-adk's JSON, metrics, and running a case in memory.

The messages of a case are sent to the app one by one (`run_case`), and the events are recorded as invocations
(`recording`). Each metric then compares these with the expected invocations: tool calls (`tool_trajectory`), words
(`response_match`), or both by a judge model (`judged_metrics`). A case passes if each score reaches the threshold of
its criterion.
"""
