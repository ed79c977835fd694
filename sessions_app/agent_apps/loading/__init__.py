"""Loading of agents: agent folders, their `.env` files, source files, and the modules that they import."""
