"""Agents in Slack: an optional Django app, needs the package `slack-bolt` (docs/slack.md).

A thread is a session. Slack's events come to `endpoint.py`, and `incoming.py` calls the use cases for the user to whom
the Slack account is linked (`linking.py`). What the session commits is posted by `posting.py`, as deliveries to the
webhook of the thread; `blocks.py` has the messages. Nothing of a conversation is stored for Slack, so everything that
Slack shows is a view of the log.
"""
