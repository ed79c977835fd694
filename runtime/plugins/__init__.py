"""Plugins: hooks for every agent of an app."""

from runtime.plugins.base_plugin import BasePlugin
from runtime.plugins.context_filter_plugin import ContextFilterPlugin
from runtime.plugins.global_instruction_plugin import GlobalInstructionPlugin
from runtime.plugins.logging_plugin import LoggingPlugin
from runtime.plugins.plugin_manager import PluginManager
from runtime.plugins.reflect_retry_tool_plugin import ReflectAndRetryToolPlugin
from runtime.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin

__all__ = [
    "BasePlugin",
    "ContextFilterPlugin",
    "GlobalInstructionPlugin",
    "LoggingPlugin",
    "PluginManager",
    "ReflectAndRetryToolPlugin",
    "SaveFilesAsArtifactsPlugin",
]
