"""Tasks: work that a program begins with a message, as the protocols A2A and MCP see it."""
