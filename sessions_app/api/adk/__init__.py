"""HTTP API with the addresses and the JSON of google-adk's `api_server`: see docs/adk-server.md."""
