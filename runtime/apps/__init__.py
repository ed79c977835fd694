"""Apps: root agents with their plugins and settings."""

from runtime.apps.app import App, EventsCompactionConfig, ResumabilityConfig

__all__ = ["App", "EventsCompactionConfig", "ResumabilityConfig"]
