"""The protocols that the model server speaks: a script's turn as each provider's JSON and server-sent events."""
