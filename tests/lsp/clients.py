"""The capabilities of clients: those that pytest-lsp has on record, and what newer ones tell."""

from __future__ import annotations

from lsprotocol import types
from pytest_lsp import client_capabilities

VS_CODE = "visual-studio-code"
"""VS Code 1.65, the newest that pytest-lsp has: it waits for diagnostics, and knows no notebooks."""

VS_CODE_NOW = "visual-studio-code-now"
"""What VS Code tells since, with version 9 of its client library."""

NEOVIM = "neovim"
"""Neovim 0.11: it can ask for diagnostics, but cannot be told to ask again."""

EMACS = "emacs"
"""Emacs 29 with eglot."""


def capabilities_of(kind: str) -> types.ClientCapabilities:
    """The capabilities of a kind of client."""
    if kind != VS_CODE_NOW:
        return client_capabilities(kind)
    told = client_capabilities(VS_CODE)
    assert told.text_document is not None and told.workspace is not None
    tags = [types.DiagnosticTag.Unnecessary, types.DiagnosticTag.Deprecated]
    told.text_document.diagnostic = types.DiagnosticClientCapabilities(
        dynamic_registration=True,
        related_document_support=False,
        related_information=True,
        tag_support=types.ClientDiagnosticsTagOptions(tags),
        code_description_support=True,
        data_support=True,
    )
    told.text_document.inlay_hint = types.InlayHintClientCapabilities(
        dynamic_registration=True,
        resolve_support=types.ClientInlayHintResolveOptions(["tooltip", "textEdits", "label.tooltip"]),
    )
    told.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
    told.workspace.inlay_hint = types.InlayHintWorkspaceClientCapabilities(refresh_support=True)
    told.notebook_document = types.NotebookDocumentClientCapabilities(
        synchronization=types.NotebookDocumentSyncClientCapabilities(
            dynamic_registration=True, execution_summary_support=True
        )
    )
    return told
