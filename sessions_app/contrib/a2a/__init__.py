"""The site's agents, served by the Agent-to-Agent protocol (A2A); see docs/a2a.md.

endpoint.py   checks the request before the SDK sees it; the only module that works without the package `a2a-sdk`
server.py     hands the request to the SDK's JSON-RPC server
handler.py    implements the methods of the protocol
requests.py   turns a method into calls of use cases
tasks.py      reads a task from the tables; task_stream.py follows it
"""
