"""Spec C4, Q6, Q17: the plugins of a Runner are asked in order."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.context import InvocationContext
from runtime.errors import PluginError
from runtime.plugins import BasePlugin, PluginManager


class Greeter(BasePlugin):
    """Answers `before_run` with its text, or with nothing."""

    def __init__(self, name: str, answer: types.Content | None, asked: list[str]) -> None:
        super().__init__(name)
        self.answer = answer
        self.asked = asked

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        self.asked.append(self.name)
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


async def test_plugins_are_asked_in_order_until_one_answers() -> None:
    asked: list[str] = []
    reply = types.Content(role="model", parts=[])
    plugins = [
        Greeter("a", None, asked),
        BasePlugin("b"),
        Greeter("c", reply, asked),
        Greeter("d", reply, asked),
    ]
    manager = PluginManager(plugins)
    assert await manager.ask("before_run_callback", invocation_context=None) is reply
    assert asked == ["a", "c"]


async def test_where_no_plugin_answers_there_is_no_answer() -> None:
    manager = PluginManager([BasePlugin("a"), Greeter("b", None, [])])
    assert await manager.ask("before_run_callback", invocation_context=None) is None
    assert await PluginManager().ask("before_run_callback", invocation_context=None) is None


async def test_an_error_names_plugin_and_hook_and_keeps_the_cause() -> None:
    """Q6."""
    with pytest.raises(RuntimeError, match=r"'broken'.*before_run_callback.*lost") as error:
        await PluginManager([Broken("broken")]).ask("before_run_callback", invocation_context=None)
    assert isinstance(error.value, PluginError)
    assert isinstance(error.value.__cause__, KeyError)


def test_two_plugins_of_one_name_are_refused() -> None:
    """C4, Q17."""
    with pytest.raises(ValueError, match="'twin'"):
        PluginManager([BasePlugin("twin"), BasePlugin("other"), BasePlugin("twin")])


async def test_a_plugin_works_that_does_not_call_its_base() -> None:
    """Q6."""
    manager = PluginManager([Bare()])
    assert await manager.ask("before_run_callback", invocation_context=None) is None
    assert manager.get_plugin("nobody") is None


async def test_every_plugin_is_closed_and_the_failures_are_told_together() -> None:
    bare = Bare()
    manager = PluginManager([Broken("one"), bare, Broken("two")])
    with pytest.raises(PluginError, match=r"'one'.*'two'"):
        await manager.close()
    assert bare.closed


def test_a_plugin_that_does_not_call_its_base_is_named_after_its_class() -> None:
    """Q6."""
    bare, named = Bare(), BasePlugin("named")
    manager = PluginManager([bare, type("Other", (Bare,), {})(), named])
    assert manager.get_plugin("Bare") is bare
    assert manager.get_plugin("named") is named
    with pytest.raises(ValueError, match="'Bare'"):
        manager.register_plugin(Bare())


async def test_hooks_and_close_may_be_plain_functions() -> None:
    """L11."""
    closed = []

    class Plain(BasePlugin):
        def before_run_callback(self, **_: object) -> types.Content | None:
            return None

        def on_user_message_callback(self, **_: object) -> types.Content:
            return types.Content(role="user", parts=[])

        def close(self) -> None:
            closed.append(self.name)

    manager = PluginManager([Plain("plain"), Greeter("greeter", types.Content(role="model"), [])])
    greeting = await manager.ask("before_run_callback", invocation_context=None)
    assert greeting == types.Content(role="model")
    message = await manager.ask("on_user_message_callback", invocation_context=None, user_message=None)
    assert message == types.Content(role="user", parts=[])
    await manager.close()
    assert closed == ["plain"]
