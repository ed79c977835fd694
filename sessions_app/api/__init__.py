"""HTTP API on the use cases: the site's own under `/api/v1/`, and that of the Agent Development Kit under `/adk/`."""
