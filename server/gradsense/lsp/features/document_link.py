"""`textDocument/documentLink`: from the codes in comments that silence rules to the rules' pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.features.guard import guarded
from gradsense.lsp.features.hover import rule_of
from gradsense.syntax import Source
from gradsense.syntax.columns import encode_column
from gradsense.syntax.suppressions import Suppressions

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

_CODE = re.compile(r"\bGS[0-9]{3}\b", re.IGNORECASE)


def register(server: GradSenseServer) -> None:
    """Adds this method to the server."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    @guarded(empty=list)
    async def document_link(params: types.DocumentLinkParams) -> list[types.DocumentLink]:
        document = session.documents.get(params.text_document.uri)
        if (
            document is None
            or not document.is_python
            or document.size > session.settings_of(document.program).most_bytes
        ):
            return []
        source = Source("", document.text)
        links = []
        for comment in Suppressions.of(source).items:
            span = comment.span
            text = source.lines[span.line - 1]
            for found in _CODE.finditer(text, span.column, span.end_column):
                rule = await rule_of(session, found.group().upper())
                if rule is None or rule.url is None:
                    continue
                start, end = (encode_column(text, column, session.client.encoding) for column in found.span())
                place = types.Range(types.Position(span.line - 1, start), types.Position(span.line - 1, end))
                tooltip = f"{rule.code} {rule.name}" if session.client.link_tooltips else None
                links.append(types.DocumentLink(range=place, target=rule.url, tooltip=tooltip))
        return links
