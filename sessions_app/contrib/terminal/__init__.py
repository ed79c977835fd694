"""Conversations with an agent in a terminal or a script.

They use the use cases and the feed of the chat page, so a conversation can be continued in either place.
"""
