"""The pages of a session: timeline, trace, graph of its workflow, actions, exports."""
