"""Chat page: HTTP views, and the websocket consumer with its frames."""
