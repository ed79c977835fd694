"""Requests to a person, for confirmations and credentials, and the answers to them."""
