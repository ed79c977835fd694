"""The site's agents, served by the Agent-to-Agent protocol (A2A); see docs/a2a.md.

endpoint.py   checks the request before the SDK sees it; the only module that works without the package `a2a-sdk`
server.py     hands the request to the SDK's JSON-RPC server
handler.py    implements the methods of the protocol by the tasks of `api/tasks/`, and follows a task
incoming.py   reads a message: text, files, answers
conversion.py, files.py   make A2A's objects of a task
task_list.py  lists tasks; push.py notifies of them
"""
