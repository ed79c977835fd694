"""Django system checks of the agents, of `settings.ADK`, and of the project that has installed this app."""
