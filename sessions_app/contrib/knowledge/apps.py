"""Django app configuration. Modules are imported on use: models cannot be imported yet."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from runtime.tools.retrieval.knowledge_toolset import set_knowledge_search
from sessions_app.extensions import Extension, Page

if TYPE_CHECKING:
    from sessions_app.process.sweeping import Repair


class KnowledgeConfig(Extension):
    """Knowledge bases that agents search and cite."""

    default = True
    name = "sessions_app.contrib.knowledge"
    label = "adk_knowledge"
    verbose_name = "Knowledge bases"

    def ready(self) -> None:
        """Give the runtime the search of this site's bases."""
        set_knowledge_search(import_module("sessions_app.contrib.knowledge.search").search_bases)

    def pages(self) -> Sequence[Page]:
        from sessions_app.contrib.knowledge.passage_page import passage_page

        return [Page("knowledge/passages/<int:passage_id>/", passage_page, "passage")]

    def repairs(self) -> Sequence["Repair"]:
        from sessions_app.contrib.knowledge.repairs import knowledge_repairs

        return knowledge_repairs()
