"""The files around the package say the same as the package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gradsense import __version__
from gradsense.cli.commands.check import FORMATS
from gradsense.cli.main import main
from gradsense.config import Settings, settings_from

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def locked(*names: str) -> dict[str, str]:
    """The versions that lock files hold for this Python."""
    found = {}
    for name in names:
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            if line and not line.startswith(("#", "-r ")):
                requirement = Requirement(line)
                if requirement.marker is None or requirement.marker.evaluate():
                    found[canonicalize_name(requirement.name)] = str(requirement.specifier).removeprefix("==")
    return found


@pytest.mark.parametrize(
    ("locks", "groups"),
    [(LOCKS[:1], ("dependencies", "requires")), (LOCKS, ("dependencies", "requires", "dev"))],
)
def test_the_lock_files_hold_a_fitting_version_of_all_that_is_required(
    locks: tuple[str, ...], groups: tuple[str, ...]
) -> None:
    table = project()
    required = {
        "dependencies": table["project"]["dependencies"],
        "requires": table["build-system"]["requires"],
        "dev": table["dependency-groups"]["dev"],
    }
    versions = locked(*locks)
    for requirement in (Requirement(text) for group in groups for text in required[group]):
        if requirement.marker is None or requirement.marker.evaluate():
            assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement


@pytest.mark.parametrize("name", LOCKS)
def test_lock_files_hold_names_and_versions_only(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pin = r"[\w.-]+==[\w.]+(; (python_version|sys_platform) .*)?"
    assert all(re.fullmatch(rf"#.*|-r requirements\.lock|{pin}", line) for line in lines)


def test_versions_and_names_agree() -> None:
    manifest = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    assert manifest["name"] == project()["project"]["name"] == "gradsense"
    assert manifest["version"] == __version__
    for command in manifest["scripts"].values():
        assert (ROOT / command.removeprefix("node ")).is_file()


@pytest.mark.skipif(os.name == "nt", reason="files have no such mark there")
def test_the_script_of_the_pipeline_can_be_started() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_names_every_format_and_only_options_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    options = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    text = readme()
    section = text[text.index("## Command line") : text.index("## What it finds")]
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", section)) <= options
    assert all(f"`{name}`" in section for name in FORMATS)


def test_the_hook_of_pre_commit_and_its_example_fit_together(tmp_path: Path) -> None:
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    [repository] = yaml.safe_load(re.findall(r"```yaml\n(repos:.*?)```", readme(), re.DOTALL)[0])["repos"]
    assert [used["id"] for used in repository["hooks"]] == [hook["id"]]
    # What pre-commit starts, with the files that changed.
    program, *arguments = hook["entry"].split()
    assert program in project()["project"]["scripts"]
    faulty, fine = tmp_path / "faulty.py", tmp_path / "fine.py"
    faulty.write_text("import torch\nw = torch.ones(2, requires_grad=True)\ny = w.exp()\ny += 1\ny.sum().backward()\n")
    fine.write_text("x = 1\n")
    assert main([*arguments, str(fine)]) == 0
    assert main([*arguments, str(faulty), str(fine)]) == 1


def test_the_workflow_in_the_readme_annotates_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [block] = re.findall(r"```yaml\n(jobs:.*?)```", readme(), re.DOTALL)
    [job] = yaml.safe_load(block)["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert f"gradsense-{__version__}-py3-none-any.whl" in commands[0]
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "step.py").write_text("import torch\nw = torch.ones(2, requires_grad=True)\nw += 1\n")
    monkeypatch.chdir(tmp_path)
    assert main(commands[1].split()[1:]) == 1
    assert capsys.readouterr().out.startswith("::error title=GS203 inplace-on-leaf,file=src/step.py,line=3,")


def test_the_settings_in_the_readme_are_valid() -> None:
    [block] = re.findall(r"```toml\n(\[tool\.gradsense\]\n.*?)```", readme(), re.DOTALL)
    table = tomllib.loads(block)["tool"]["gradsense"]
    assert settings_from(table, Settings(), "README.md")[1] == ()


def test_the_generated_parts_of_the_readme_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "server" / "tools" / "docs.py"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0, "run python server/tools/docs.py"


def test_links_in_the_documents_lead_somewhere() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "examples/README.md", "CHANGELOG.md"):
        path = ROOT / name
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{name}: {target}"
