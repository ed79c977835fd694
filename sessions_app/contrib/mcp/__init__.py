"""Agents as tools of an MCP server (docs/mcp-server.md).

    endpoint.py         the address: origin, key, limits
    server.py           the methods, called by the SDK's server
    results.py          tools, results, tasks and questions as MCP has them: pure functions
    authorization.py    sign-in by OAuth: the addresses for programs
    consent.py          sign-in by OAuth: the page for people
    programs.py         sign-in by OAuth: registered programs and codes, as signed values

Nothing of a call is kept in memory: a task is an invocation, so any process can answer any request.
"""
