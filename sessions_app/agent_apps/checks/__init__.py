"""Django system checks of agents, of `settings.ADK`, and of the project around this app."""
