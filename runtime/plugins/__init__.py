"""Plugins: hooks for every agent of an app."""

from runtime.plugins.base_plugin import BasePlugin
from runtime.plugins.plugin_manager import PluginManager

__all__ = ["BasePlugin", "PluginManager"]
