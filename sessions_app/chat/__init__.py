"""The chat page: HTTP views, the websocket consumer and its frames."""
