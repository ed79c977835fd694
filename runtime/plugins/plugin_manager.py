"""PluginManager: calls the hooks of an app's plugins in order (contract C4, Q6)."""

import logging
from collections.abc import Iterable, Iterator
from functools import partialmethod
from typing import Any

from runtime.callbacks import call, close_each
from runtime.errors import ConfigurationError, PluginError
from runtime.plugins.base_plugin import BasePlugin

logger = logging.getLogger(__name__)


class PluginManager:
    """The plugins of a Runner, in order of registration.

    Raises:
        ConfigurationError: two plugins have the same name.
    """

    def __init__(self, plugins: Iterable[BasePlugin] = ()) -> None:
        self.plugins: list[BasePlugin] = []
        for plugin in plugins:
            self.register_plugin(plugin)

    def register_plugin(self, plugin: BasePlugin) -> None:
        """Append a plugin; its hooks are called after the hooks of earlier plugins."""
        if self.get_plugin(plugin.name):
            raise ConfigurationError(
                f"Plugin {plugin.name!r} is already registered. Give each plugin its own name."
            )
        self.plugins.append(plugin)

    def get_plugin(self, plugin_name: str) -> BasePlugin | None:
        return next((plugin for plugin in self.plugins if plugin.name == plugin_name), None)

    def implements(self, hook: str) -> bool:
        """Return True if at least one plugin implements the hook."""
        return any(True for _ in self._implementing(hook))

    async def ask(self, hook: str, **kwargs: Any) -> Any:
        """Call the hook of each plugin until an answer is not None; return this answer.

        Raises:
            PluginError: a hook raised. The message names the plugin and the hook.
        """
        if not self.plugins:
            return None
        for plugin in self._implementing(hook):
            try:
                answer = await call(getattr(plugin, hook), **kwargs)
            except Exception as error:
                raise PluginError(f"Error in plugin {plugin.name!r} during {hook!r}: {error}") from error
            if answer is not None:
                return answer
        return None

    async def tell(self, hook: str, **kwargs: Any) -> None:
        """Call the hook of each plugin and ignore the answers; log exceptions of hooks."""
        for plugin in self._implementing(hook):
            try:
                await call(getattr(plugin, hook), **kwargs)
            except Exception:
                # The exception being reported must reach the caller, not an exception about it.
                logger.exception("Plugin %r failed in %s", plugin.name, hook)

    run_on_user_message_callback = partialmethod(ask, "on_user_message_callback")
    run_before_run_callback = partialmethod(ask, "before_run_callback")
    run_after_run_callback = partialmethod(ask, "after_run_callback")
    run_on_event_callback = partialmethod(ask, "on_event_callback")
    run_before_agent_callback = partialmethod(ask, "before_agent_callback")
    run_after_agent_callback = partialmethod(ask, "after_agent_callback")
    run_before_model_callback = partialmethod(ask, "before_model_callback")
    run_after_model_callback = partialmethod(ask, "after_model_callback")
    run_on_model_error_callback = partialmethod(ask, "on_model_error_callback")
    run_before_tool_callback = partialmethod(ask, "before_tool_callback")
    run_after_tool_callback = partialmethod(ask, "after_tool_callback")
    run_on_tool_error_callback = partialmethod(ask, "on_tool_error_callback")
    run_on_agent_error_callback = partialmethod(tell, "on_agent_error_callback")
    run_on_run_error_callback = partialmethod(tell, "on_run_error_callback")

    async def close(self) -> None:
        """Close every plugin, even if some fail.

        Raises:
            PluginError: some plugins failed to close. The message names them.
        """
        if failures := await close_each((repr(plugin.name), plugin.close) for plugin in self.plugins):
            raise PluginError(f"Plugins failed in close: {'; '.join(failures)}")

    def _implementing(self, hook: str) -> Iterator[BasePlugin]:
        return (plugin for plugin in self.plugins if hook in _find_overridden(type(plugin)))


_overridden_hooks: dict[type[BasePlugin], frozenset[str]] = {}


def _find_overridden(plugin_class: type[BasePlugin]) -> frozenset[str]:
    """Return the hooks that a plugin class implements."""
    # Cached and asked before each call: most plugins have few hooks, and partial events come by the hundred.
    if plugin_class not in _overridden_hooks:
        hooks = {name: hook for name, hook in vars(BasePlugin).items() if name.endswith("_callback")}
        own = (name for name, hook in hooks.items() if getattr(plugin_class, name) is not hook)
        _overridden_hooks[plugin_class] = frozenset(own)
    return _overridden_hooks[plugin_class]
