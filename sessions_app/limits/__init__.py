"""Limits for people and client addresses, counted by all processes together in Redis.

Without Redis each process counts for itself: the limits protect the site, and an outage of Redis must not close it.
"""
