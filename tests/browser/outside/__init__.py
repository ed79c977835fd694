"""A Django app whose agent reaches an OpenAI-compatible server, an MCP server and an OpenAPI service."""
