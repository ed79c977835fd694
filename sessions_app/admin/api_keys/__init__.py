"""Admin of API keys: the list, revoking, and making the key of a service."""
