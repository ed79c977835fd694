"""The site's agents, served by the Agent-to-Agent protocol (A2A): see docs/a2a.md.

The site imports `endpoint.py` alone: the other modules need the optional package `a2a-sdk`.
"""
