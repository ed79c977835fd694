"""Apps: root agents with their plugins and settings."""

from runtime.apps.app import App, ResumabilityConfig

__all__ = ["App", "ResumabilityConfig"]
