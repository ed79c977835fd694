"""Django app configuration. Modules are imported on use: models cannot be imported yet."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from runtime.tools.retrieval.knowledge_toolset import set_knowledge_search
from sessions_app.extensions import Extension, Page, SettingsLink

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
        from sessions_app.contrib.knowledge import owner_pages
        from sessions_app.contrib.knowledge.passage_page import passage_page

        return [
            Page("knowledge/", owner_pages.bases_page, "knowledge"),
            Page("knowledge/<int:base_id>/", owner_pages.base_page, "knowledge_base"),
            Page(
                "knowledge/<int:base_id>/documents/<int:document_id>/delete/",
                owner_pages.delete_document,
                "delete_document",
            ),
            Page("knowledge/passages/<int:passage_id>/", passage_page, "passage"),
        ]

    def settings_links(self, user: Any) -> Sequence[SettingsLink]:
        from sessions_app.models import KnowledgeBase

        if not KnowledgeBase.objects.owned_by(user).exists():
            return ()
        about = gettext("Upload, replace and delete documents that agents look up for others.")
        return [SettingsLink("knowledge", gettext("Your knowledge bases"), about)]

    def repairs(self) -> Sequence["Repair"]:
        from sessions_app.contrib.knowledge.repairs import knowledge_repairs

        return knowledge_repairs()
