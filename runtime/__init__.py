"""The Agent Development Kit runtime: agents, tools, sessions and the event loop around them."""
