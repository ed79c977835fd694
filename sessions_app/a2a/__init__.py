"""The site's agents, served by the Agent-to-Agent protocol (A2A): see docs/a2a.md.

`endpoint.py` alone is imported by the site. The others need the optional package `a2a-sdk`.
"""
