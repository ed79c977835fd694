"""Conversations with an agent in a terminal or a script, on the same use cases as the chat page."""
