"""What the documents say is so: programs do what is said of them, commands and files exist, nothing made is stale."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from docs.blocks import DOCUMENTS, ROOT, Block, commands, fenced
from gradsense.check import check_source
from gradsense.config import Settings, settings_from
from gradsense.filtering import apply
from gradsense.rules.finding import Severity
from gradsense.syntax import Source
from oracle import Oracle

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ALOUD = {Severity.ERROR, Severity.WARNING}
OUTCOMES = ("raises", "grows", "clean", "quiet")
PROGRAMS = [block for block in fenced() if block.language == "python" and block.told]
SETTINGS = [block for block in fenced() if block.language == "toml"]
COMMANDS = [line for block in commands() for line in block.text.splitlines()]


def loud(block: Block) -> list[str]:
    """What GradSense says of a program unasked."""
    source = Source.from_text("train.py", block.text)
    kept = apply(check_source(source), {source.path: source}, Settings())
    return [f"{finding.code} line {finding.span.line}" for finding in kept if finding.severity in ALOUD]


def test_every_program_says_what_torch_does_with_it() -> None:
    # README and CONTRIBUTING show lines out of programs, too.
    unsaid = [str(b) for b in fenced() if b.language == "python" and not b.told and b.document.islower()]
    assert not unsaid
    assert {block.told for block in PROGRAMS} == set(OUTCOMES)


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_torch_and_gradsense_agree_with_the_document(block: Block, torch_oracle: Oracle) -> None:
    if block.told != "quiet":
        assert torch_oracle.run(block.text).kind == block.told
    assert bool(loud(block)) == (block.told in {"raises", "grows"}) or "silently" in block.text, loud(block)


@pytest.mark.parametrize("block", SETTINGS, ids=str)
def test_settings_are_understood(block: Block) -> None:
    table = tomllib.loads(block.text).get("tool", {}).get("gradsense")
    if table is not None:
        assert settings_from(table, Settings(), str(block))[1] == ()


def test_what_is_made_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "server" / "tools" / "docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_name_what_there_is(command: str) -> None:
    modules = re.findall(r"-m ([\w.]+)", command)
    files = [word for word in re.findall(r"[\w./-]+", command) if "/" in word and word.endswith(".py")]
    folders = [word for word in command.split() if word.startswith("tests/")]
    for module in modules:
        if module not in {"pytest", "mypy", "ruff"}:
            parts = module.split(".")
            places = [ROOT.joinpath(*parts), ROOT.joinpath("tests", *parts)]
            assert any(place.is_dir() or place.with_suffix(".py").is_file() for place in places), module
    for name in (*files, *folders):
        assert (ROOT / name).exists() or (ROOT / "tests" / name).exists(), name


def test_links_lead_somewhere() -> None:
    pages = sorted((ROOT / "docs" / "rules").glob("*.md"))
    for path in (*DOCUMENTS, *pages):
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_every_document_is_in_the_list() -> None:
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "docs").glob("*.md"):
        assert path.name == "README.md" or f"({path.name})" in listed, path.name


def test_files_that_are_named_exist() -> None:
    for path in (ROOT / "docs").glob("*.md"):
        for name in re.findall(r"`((?:machine|server|tests|rules)/[\w./]+)`", path.read_text(encoding="utf-8")):
            places = [ROOT / name, ROOT / "server" / "gradsense" / name]
            assert any(place.exists() for place in places), f"{path.name}: {name}"
