"""What the client can do, read once from its capabilities."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lsprotocol import types
from pygls.capabilities import get_capability

from gradsense.syntax.columns import Encoding

_VS_CODE = re.compile(r"visual studio code|\bcode\b|code-|vscod|cursor|windsurf", re.IGNORECASE)


@dataclass(frozen=True)
class Client:
    """The optional abilities that the server's answers depend on; a client that says nothing has none.

    Args:
        encoding: the unit of characters that was agreed on.
        related: diagnostics may have related locations.
        links: diagnostics may link to the rule's page.
        data: diagnostics come back with the data they carried.
        versions: diagnostics may say for which version they are.
        tags: the diagnostic tags that are understood.
        markdown: hovers may be markdown.
        action_literals: code actions may be more than commands.
        preferred: code actions may be marked as preferred.
        resolve: a code action's edit may be asked for later.
        versioned_edits: edits may name the version that they are for.
        pull_settings: the server may ask for settings.
        watch: the server may ask to be told about files that change on disk.
        pull: it asks for diagnostics itself, and can be told to ask again.
        related_documents: an answer about one document may speak of others.
        inlay_refresh: it can be told to ask again for inlay hints.
        lens_refresh: it can be told to ask again for code lenses.
        progress: the server may show how far it is with work of its own.
        creates: an edit may create a file.
        link_tooltips: links in a text may have a text of their own.
        icons: titles may have VS Code's icons in them.
        repeats: its hovers show the messages of diagnostics by themselves.
        asks: a message may ask the person for a choice.
    """

    encoding: Encoding = "utf-16"
    related: bool = False
    links: bool = False
    data: bool = False
    versions: bool = False
    tags: frozenset[types.DiagnosticTag] = field(default_factory=frozenset)
    markdown: bool = False
    action_literals: bool = False
    preferred: bool = False
    resolve: bool = False
    versioned_edits: bool = False
    pull_settings: bool = False
    watch: bool = False
    pull: bool = False
    related_documents: bool = False
    inlay_refresh: bool = False
    lens_refresh: bool = False
    progress: bool = False
    creates: bool = False
    link_tooltips: bool = False
    icons: bool = False
    repeats: bool = False
    asks: bool = False

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities, encoding: str | None, name: str = "") -> Client:
        """Reads a client's capabilities.

        Args:
            name: what it calls itself.
            encoding: the position encoding that the protocol layer chose.
        """

        def has(path: str) -> bool:
            return bool(get_capability(capabilities, path, False))

        diagnostics = "text_document.publish_diagnostics"
        tags = get_capability(capabilities, f"{diagnostics}.tag_support.value_set", ())
        formats = get_capability(capabilities, "text_document.hover.content_format", ())
        resolvable = get_capability(capabilities, "text_document.code_action.resolve_support.properties", ())
        operations = get_capability(capabilities, "workspace.workspace_edit.resource_operations", ())
        return cls(
            encoding=_encoding(encoding),
            related=has(f"{diagnostics}.related_information"),
            links=has(f"{diagnostics}.code_description_support"),
            data=has(f"{diagnostics}.data_support"),
            versions=has(f"{diagnostics}.version_support"),
            tags=frozenset(tags or ()),
            markdown=types.MarkupKind.Markdown in (formats or ()),
            action_literals=has("text_document.code_action.code_action_literal_support"),
            preferred=has("text_document.code_action.is_preferred_support"),
            resolve=has("text_document.code_action.data_support") and "edit" in (resolvable or ()),
            versioned_edits=has("workspace.workspace_edit.document_changes"),
            pull_settings=has("workspace.configuration"),
            watch=has("workspace.did_change_watched_files.dynamic_registration"),
            # One that asks but cannot be told to ask again would go on showing what no longer holds.
            pull=has("text_document.diagnostic") and has("workspace.diagnostics.refresh_support"),
            related_documents=has("text_document.diagnostic.related_document_support"),
            inlay_refresh=has("workspace.inlay_hint.refresh_support"),
            lens_refresh=has("workspace.code_lens.refresh_support"),
            progress=has("window.work_done_progress"),
            link_tooltips=has("text_document.document_link.tooltip_support"),
            icons=_VS_CODE.search(name) is not None,
            repeats=_VS_CODE.search(name) is not None,
            creates=types.ResourceOperationKind.Create in (operations or ()),
            asks=get_capability(capabilities, "window.show_message") is not None,
        )


def _encoding(name: str | None) -> Encoding:
    if name == types.PositionEncodingKind.Utf8:
        return "utf-8"
    if name == types.PositionEncodingKind.Utf32:
        return "utf-32"
    return "utf-16"
