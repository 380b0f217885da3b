"""Makes what the documents say of the program: parts of README.md, a page for each rule, the settings, the
schema of a run's report, a picture.

usage: python server/tools/docs.py [--check]      (--check changes nothing, names what is stale, and exits with 1)
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from documenting import picture, readme, rules, run_report, settings

from gradsense.cli.pages import pages

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
# The same pages lie in the package, where an editor's links lead to them without a network.
PAGES = (DOCS / "rules", ROOT / "server" / "gradsense" / "rules" / "pages")


def main(arguments: list[str]) -> int:
    """Makes all files anew, or says which are not as they should be."""
    wanted = made()
    gone = [path for folder in PAGES for path in folder.glob("*.md") if path not in wanted]
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in (*stale, *gone):
            print(f"{path.relative_to(ROOT)} is stale: run python server/tools/docs.py", file=sys.stderr)
        return int(bool(stale or gone))
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8", newline="\n")
    for path in gone:
        path.unlink()
    return 0


def made() -> dict[Path, str]:
    """What each file should hold."""
    files = {
        README: readme.renewed(README.read_text(encoding="utf-8")),
        DOCS / "settings.md": settings.page(),
        DOCS / "run-report.schema.json": run_report.schema(),
        DOCS / "life-of-a-graph.svg": picture.svg(),
        PAGES[0] / "README.md": rules.index(),
    }
    for code in pages():
        text = rules.page(code)
        files.update({folder / f"{code}.md": text for folder in PAGES})
    return files


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
