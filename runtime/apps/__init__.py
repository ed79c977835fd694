"""Apps: named root agents with plugins and settings."""

from runtime.apps.app import App, EventsCompactionConfig, ResumabilityConfig

__all__ = ["App", "EventsCompactionConfig", "ResumabilityConfig"]
