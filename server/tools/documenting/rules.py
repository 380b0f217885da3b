"""A page for each rule, and the table that leads to them."""

from __future__ import annotations

import difflib

from documenting.head import HEAD
from documenting.shown import as_shown, of_program
from gradsense.cli.pages import Page, pages
from gradsense.fixes.fix import Applicability
from gradsense.rules.finding import Finding, Severity
from gradsense.rules.registry import all_rules
from gradsense.syntax import apply_edits

FAMILIES = {
    "GS0": "Comments that silence",
    "GS1": "A graph that is walked again",
    "GS2": "A write in place to what a backward needs",
    "GS3": "Graphs that are kept",
    "GS4": "Gradients that are lost or wrong",
    "GS5": "Time for nothing",
}
OUTCOMES = {"raises": "raises", "grows": "memory grows", "silent": "silent: wrong results", "clean": "works"}
SAFETY = {Applicability.SAFE: "safe", Applicability.UNSAFE: "may change results"}


def page(code: str) -> str:
    """The page of a rule: what it says of itself, what is shown for its example, and what each fix changes."""
    own = pages()[code]
    parts = [HEAD + own.markdown.rstrip()]
    rule = all_rules().get(code)
    if rule is not None:
        result = of_program(rule.example, code)
        parts.append(f"## What GradSense says\n\n```text\n{as_shown(result)}\n```")
        parts += _changes(rule.example, result.findings)
    return "\n\n".join(parts) + "\n"


def _changes(text: str, findings: list[Finding]) -> list[str]:
    parts = []
    for finding in findings[:1]:
        for fix in finding.fixes:
            after = apply_edits(text, fix.edits)
            lines = [*difflib.unified_diff(text.splitlines(), after.splitlines(), lineterm="", n=2)][2:]
            safety = SAFETY[fix.applicability]
            parts.append(f"{fix.title} ({safety}):\n\n```diff\n" + "\n".join(lines) + "\n```")
    return ["## What the fixes change", *parts] if parts else []


def index() -> str:
    """The table of all rules, family by family, each with a link to its page."""
    parts = [f"{HEAD}# Rules", _INTRODUCTION.strip()]
    for beginning, title in FAMILIES.items():
        own = [page for page in pages().values() if page.code.startswith(beginning)]
        rows = "\n".join(f"| {' | '.join(_row(page))} |" for page in own)
        parts.append(
            f"## {title}\n\n| code | what is found | torch | said as | first fix |\n| - | - | - | - | - |\n{rows}"
        )
    return "\n\n".join(parts) + "\n"


def _row(page: Page) -> tuple[str, ...]:
    link = f"[{page.code}]({page.code}.md) {page.name}"
    summary = page.summary.replace("|", r"\|")
    rule = all_rules().get(page.code)
    if rule is None:
        return link, summary, "works", Severity.INFORMATION.value, "safe"
    findings = of_program(rule.example, page.code).findings
    first = next((fix for finding in findings for fix in finding.fixes), None)
    said = min((finding.severity for finding in findings), key=lambda severity: severity.rank)
    return link, summary, OUTCOMES[rule.outcome], said.value, SAFETY[first.applicability] if first else "none"


_INTRODUCTION = """
What each rule finds, what torch does with the program of the rule's page, how loudly GradSense says so there, and
whether the first fix on offer is safe: whether the mended program computes the same. A fix of something silent never
is, since changing what is computed is its point.

Severity says how sure a finding is. An *error* raises on every path that gets to the line. A *warning* may raise, or
keeps memory growing, or loses a gradient without a word. *Information* costs time or memory and nothing else. A *hint*
is shown on request (`--show-hints`): it is fine, and worth knowing.
"""
