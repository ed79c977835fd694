"""Answers to calls that wait for somebody: who may give one, and how the invocation continues with it."""
