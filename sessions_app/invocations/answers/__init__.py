"""Answers to waiting calls: who may answer, and how the invocation continues with the answer."""
