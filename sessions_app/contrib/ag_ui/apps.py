"""Django app configuration. The method imports when called: models cannot be imported before."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sessions_app.extensions import Extension

if TYPE_CHECKING:
    from sessions_app.asgi.protocol import Application


class AgUiConfig(Extension):
    """Serves agents by the Agent-User Interaction protocol."""

    default = True
    name = "sessions_app.contrib.ag_ui"
    label = "adk_ag_ui"
    verbose_name = "Agent-User Interaction protocol"

    def streams(self) -> Mapping[str, "Application"]:
        from sessions_app.contrib.ag_ui.endpoint import AG_UI

        return {AG_UI.route: AG_UI}
