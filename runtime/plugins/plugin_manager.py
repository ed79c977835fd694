"""PluginManager: asks an app's plugins, in order (spec C4, Q6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime.callbacks import call, close_each
from runtime.errors import ConfigurationError, PluginError
from runtime.plugins.base_plugin import BasePlugin


class PluginManager:
    """The plugins of a Runner, by name.

    Raises:
        ConfigurationError: two plugins have one name.
    """

    def __init__(self, plugins: Iterable[BasePlugin] = ()) -> None:
        self.plugins: list[BasePlugin] = []
        for plugin in plugins:
            self.register_plugin(plugin)

    def register_plugin(self, plugin: BasePlugin) -> None:
        """Add a plugin; it is asked after those that are there."""
        if self.get_plugin(plugin.name):
            raise ConfigurationError(
                f"Plugin {plugin.name!r} is registered already. Give each plugin its own name."
            )
        self.plugins.append(plugin)

    def get_plugin(self, plugin_name: str) -> BasePlugin | None:
        """The plugin of this name, or None."""
        return next((plugin for plugin in self.plugins if plugin.name == plugin_name), None)

    def implements(self, hook: str) -> bool:
        """Whether a plugin has the hook."""
        return any(hook in _overridden(type(plugin)) for plugin in self.plugins)

    async def ask(self, hook: str, **kwargs: Any) -> Any:
        """The first answer other than None that a plugin's hook gives; None when none does.

        Raises:
            PluginError: the hook raised; names plugin and hook, with the cause.
        """
        for plugin in self.plugins:
            if hook not in _overridden(type(plugin)):
                continue
            try:
                answer = await call(getattr(plugin, hook), **kwargs)
            except Exception as error:
                raise PluginError(f"Plugin {plugin.name!r} failed in {hook}: {error}") from error
            if answer is not None:
                return answer
        return None

    async def close(self) -> None:
        """Close every plugin, also when one fails.

        Raises:
            PluginError: names the plugins that failed.
        """
        if failures := await close_each((repr(plugin.name), plugin.close) for plugin in self.plugins):
            raise PluginError(f"Plugins failed in close: {'; '.join(failures)}")


_overridden_hooks: dict[type[BasePlugin], frozenset[str]] = {}


def _overridden(kind: type[BasePlugin]) -> frozenset[str]:
    """The hooks that a plugin class implements, so that the others cost nothing per streamed piece."""
    if kind not in _overridden_hooks:
        names = (name for name in vars(BasePlugin) if name.endswith("_callback"))
        _overridden_hooks[kind] = frozenset(
            n for n in names if getattr(kind, n) is not getattr(BasePlugin, n)
        )
    return _overridden_hooks[kind]
