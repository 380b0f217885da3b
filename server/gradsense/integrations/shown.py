"""A report as a notebook shows it: as HTML, and as text where there is only a terminal."""

from __future__ import annotations

import io

from gradsense.cli.formats.run_full import Surroundings, write_page
from gradsense.cli.formats.run_texts import Texts
from gradsense.cli.terminal import console
from gradsense.integrations.html import page
from gradsense.run.report import Report


class Shown:
    """What is displayed.

    Args:
        report: what the run found out.
        texts: the files that it speaks of.
        around: what it is shown with.
        whole: whether tracebacks are shown whole.
    """

    def __init__(self, report: Report, texts: Texts, around: Surroundings, whole: bool) -> None:
        self.report = report
        self._texts, self._around, self._whole = texts, around, whole

    def __repr__(self) -> str:
        out = io.StringIO()
        write_page(self.report, self._around, self._texts, console(out, "never"), whole=self._whole)
        return out.getvalue().rstrip()

    def _repr_html_(self) -> str:
        return page(self.report, self._texts, self._around, whole=self._whole)
