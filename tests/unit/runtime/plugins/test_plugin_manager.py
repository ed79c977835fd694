"""Contract C4, Q6, Q17: the hooks of a Runner's plugins are called in order."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.context import InvocationContext
from runtime.errors import PluginError
from runtime.plugins import BasePlugin, PluginManager


class Greeter(BasePlugin):
    """Records its `before_run` calls and returns the given answer."""

    def __init__(self, name: str, answer: types.Content | None, called: list[str]) -> None:
        super().__init__(name)
        self.answer = answer
        self.called = called

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        self.called.append(self.name)
        return self.answer


class Broken(BasePlugin):
    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        raise KeyError("lost")

    async def close(self) -> None:
        raise OSError(f"{self.name} cannot close")


class Bare(BasePlugin):
    """Does not call `super().__init__`."""

    def __init__(self) -> None:
        self.closed = False

    async def close(self) -> None:
        self.closed = True


async def test_hooks_are_called_in_order_until_one_answers() -> None:
    called: list[str] = []
    reply = types.Content(role="model", parts=[])
    plugins = [
        Greeter("a", None, called),
        BasePlugin("b"),
        Greeter("c", reply, called),
        Greeter("d", reply, called),
    ]
    manager = PluginManager(plugins)
    assert await manager.ask("before_run_callback", invocation_context=None) is reply
    assert called == ["a", "c"]


async def test_the_answer_is_none_when_no_plugin_answers() -> None:
    manager = PluginManager([BasePlugin("a"), Greeter("b", None, [])])
    assert await manager.ask("before_run_callback", invocation_context=None) is None
    assert await PluginManager().ask("before_run_callback", invocation_context=None) is None


async def test_an_error_names_the_plugin_and_the_hook_and_has_the_cause() -> None:
    """Contract Q6."""
    with pytest.raises(RuntimeError, match=r"'broken'.*before_run_callback.*lost") as error:
        await PluginManager([Broken("broken")]).ask("before_run_callback", invocation_context=None)
    assert isinstance(error.value, PluginError)
    assert isinstance(error.value.__cause__, KeyError)


def test_two_plugins_with_the_same_name_are_refused() -> None:
    """Contract C4, Q17."""
    with pytest.raises(ValueError, match="'twin'"):
        PluginManager([BasePlugin("twin"), BasePlugin("other"), BasePlugin("twin")])


async def test_a_plugin_that_does_not_call_super_init_works() -> None:
    """Contract Q6."""
    manager = PluginManager([Bare()])
    assert await manager.ask("before_run_callback", invocation_context=None) is None
    assert manager.get_plugin("nobody") is None


async def test_every_plugin_is_closed_and_all_failures_are_reported() -> None:
    bare = Bare()
    manager = PluginManager([Broken("one"), bare, Broken("two")])
    with pytest.raises(PluginError, match=r"'one'.*'two'"):
        await manager.close()
    assert bare.closed


def test_a_plugin_that_does_not_call_super_init_is_named_after_its_class() -> None:
    """Contract Q6."""
    bare, named = Bare(), BasePlugin("named")
    manager = PluginManager([bare, type("Other", (Bare,), {})(), named])
    assert manager.get_plugin("Bare") is bare
    assert manager.get_plugin("named") is named
    with pytest.raises(ValueError, match="'Bare'"):
        manager.register_plugin(Bare())


async def test_hooks_and_close_may_be_sync() -> None:
    """Contract L11."""
    closed = []
    hooks = {
        "before_run_callback": lambda self, **_: None,
        "on_user_message_callback": lambda self, **_: types.Content(role="user", parts=[]),
        "close": lambda self: closed.append(self.name),
    }
    # The class is built at run time because type checkers refuse to override an async method with a sync one.
    sync_plugin: BasePlugin = type("SyncPlugin", (BasePlugin,), hooks)("plain")
    manager = PluginManager([sync_plugin, Greeter("greeter", types.Content(role="model"), [])])
    greeting = await manager.ask("before_run_callback", invocation_context=None)
    assert greeting == types.Content(role="model")
    message = await manager.ask("on_user_message_callback", invocation_context=None, user_message=None)
    assert message == types.Content(role="user", parts=[])
    await manager.close()
    assert closed == ["plain"]


@pytest.mark.parametrize("hook", [name for name in vars(BasePlugin) if name.endswith("_callback")])
async def test_each_hook_has_a_run_method(hook: str) -> None:
    """Contract C4: plugins' own tests call `run_before_run_callback` and the others."""

    async def answer(self: BasePlugin, **kwargs: object) -> object:
        return kwargs

    plugin = type("Answering", (BasePlugin,), {hook: answer})("answering")
    run = getattr(PluginManager([plugin]), f"run_{hook}")
    # Hooks on errors of agents and runs are only told.
    expected = None if hook in ("on_agent_error_callback", "on_run_error_callback") else {"event": "given"}
    assert await run(event="given") == expected
