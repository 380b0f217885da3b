"""Which Python runs the step: the user's, with torch in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

OLDEST_PYTHON = (3, 9)
OLDEST_TORCH = (2, 1)
_LOOK_LIMIT = 30.0
_BIN = ("Scripts", "python.exe") if sys.platform == "win32" else ("bin", "python")
_FOLDERS = (".venv", "venv", "env")

# Reads the version of torch without importing it, which takes seconds.
_LOOK = """\
import json, sys
try:
    from importlib.metadata import version
    torch = version("torch")
except Exception:
    torch = None
print(json.dumps({"python": list(sys.version_info[:3]), "torch": torch, "executable": sys.executable}))
"""


class NoInterpreter(Exception):
    """There is no Python that can run the step; the message says what to do."""


@dataclass(frozen=True)
class Interpreter:
    """A Python, and why it was chosen.

    Args:
        path: its executable.
        reason: where the choice came from, for the person: `--python`, `VIRTUAL_ENV`, `.venv of the project`.
        torch: the version that is installed there.
    """

    path: str
    reason: str
    torch: str


def choose(
    wanted: str | None, path: str, env: Mapping[str, str] | None = None, *, reason: str = "--python"
) -> Interpreter:
    """Chooses the interpreter for a file.

    One that was asked for is taken or refused. Otherwise it is the first with a torch that will do, of: the active
    virtual environment, the active conda environment, a `.venv` beside the file or in a folder above it, the
    environment that GradSense itself is installed in, and `python3` on the path.

    Args:
        wanted: the executable, or the folder of an environment, that was asked for; None to search.
        path: the file that is to run.
        env: the environment variables.
        reason: how it was asked for, for the person.

    Raises:
        NoInterpreter: there is none.
    """
    env = os.environ if env is None else env
    if wanted:
        return _checked(_executable(wanted, reason, env), reason)
    refusals: list[str] = []
    seen: set[str] = set()
    for found, why in _candidates(path, env):
        if found in seen or not os.access(found, os.X_OK):
            continue
        seen.add(found)
        try:
            return _checked(found, why)
        except NoInterpreter as error:
            refusals.append(str(error).removesuffix(_ADVICE))
    if not refusals:
        raise NoInterpreter(f"no Python was found{_ADVICE}")
    raise NoInterpreter(f"{'; '.join(refusals)}{_ADVICE}")


_ADVICE = "; choose another with --python"


def _candidates(path: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if env.get(variable):
            yield os.path.join(env[variable], *_BIN), variable
            if sys.platform == "win32":
                yield os.path.join(env[variable], "python.exe"), variable
    for folder in _above(path):
        for name in _FOLDERS:
            if os.path.isfile(os.path.join(folder, name, "pyvenv.cfg")):
                yield os.path.join(folder, name, *_BIN), f"{name} in {folder}"
    if sys.executable and find_spec("torch") is not None:
        yield sys.executable, "the environment of GradSense"
    for name in ("python3", "python"):
        found = shutil.which(name, path=env.get("PATH"))
        if found is not None:
            yield found, f"{name} on the path"


def _above(path: str) -> Iterator[str]:
    """The folder of a file, and those above it."""
    folder = os.path.dirname(os.path.abspath(path))
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _executable(wanted: str, reason: str, env: Mapping[str, str]) -> str:
    """The executable that a person means: a path, a name on the search path, or the folder of an environment."""
    full = os.path.expanduser(wanted)
    if os.path.isdir(full):
        for inner in (_BIN, ("python.exe",), ("bin", "python3")):
            candidate = os.path.join(full, *inner)
            if os.path.isfile(candidate):
                return candidate
        raise NoInterpreter(f"{wanted} ({reason}) is a folder without a Python{_ADVICE}")
    found = shutil.which(full, path=env.get("PATH"))
    if found is None:
        raise NoInterpreter(f"{wanted} ({reason}) is no program that can be started{_ADVICE}")
    return os.path.abspath(found)


def _checked(executable: str, reason: str) -> Interpreter:
    facts = _facts(executable, _stamp(executable))
    if isinstance(facts, str):
        raise NoInterpreter(f"{executable} ({reason}) {facts}{_ADVICE}")
    python, torch = facts
    if python < OLDEST_PYTHON:
        raise NoInterpreter(f"{executable} ({reason}) is Python {_dotted(python)}, and 3.9 is needed{_ADVICE}")
    if torch is None:
        raise NoInterpreter(f"torch is not installed in {executable} ({reason}){_ADVICE}")
    if _version(torch) < OLDEST_TORCH:
        raise NoInterpreter(f"{executable} ({reason}) has torch {torch}, and 2.1 is needed{_ADVICE}")
    return Interpreter(executable, reason, torch)


@cache
def _facts(executable: str, stamp: tuple[float, ...]) -> tuple[tuple[int, ...], str | None] | str:
    """The versions of a Python and of its torch, or what is wrong with it."""
    try:
        done = subprocess.run(
            [executable, "-c", _LOOK],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_LOOK_LIMIT,
            check=False,
            cwd=os.path.dirname(executable) or None,
            env=clean_environment(os.environ),
        )
        # Start-up files may print before it.
        value = json.loads(done.stdout.decode("utf-8", "replace").strip().splitlines()[-1])
        return tuple(value["python"]), value["torch"]
    except OSError as error:
        return f"cannot be started: {error.strerror or error}"
    except subprocess.TimeoutExpired:
        return f"did not answer within {_LOOK_LIMIT:g} s"
    except (ValueError, IndexError, KeyError, TypeError):
        return "is not a Python that works"


def _stamp(executable: str) -> tuple[float, ...]:
    """What changes when the interpreter is replaced, or a package is installed or removed."""
    environment = os.path.dirname(os.path.dirname(executable))
    stamps = []
    for path in (executable, os.path.join(environment, "pyvenv.cfg"), *_package_folders(environment)):
        try:
            stamps.append(os.stat(path).st_mtime)
        except OSError:
            stamps.append(0.0)
    return tuple(stamps)


def _package_folders(environment: str) -> list[str]:
    lib = os.path.join(environment, "Lib" if sys.platform == "win32" else "lib")
    try:
        inner = sorted(name for name in os.listdir(lib) if name.startswith("python"))
    except OSError:
        return []
    return [os.path.join(lib, *name, "site-packages") for name in ([()] if sys.platform == "win32" else zip(inner))]


def clean_environment(env: Mapping[str, str]) -> dict[str, str]:
    """An environment for the user's interpreter: without what was set for GradSense's own."""
    kept = {key: value for key, value in env.items() if key not in ("PYTHONHOME", "__PYVENV_LAUNCHER__")}
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = [entry for entry in kept.pop("PYTHONPATH", "").split(os.pathsep) if entry]
    # An editor's extension puts its bundled packages there, which are none of the user's business.
    theirs = [entry for entry in paths if os.path.realpath(entry) != os.path.realpath(own)]
    if theirs:
        kept["PYTHONPATH"] = os.pathsep.join(theirs)
    return kept


def activated(env: Mapping[str, str], python: str) -> dict[str, str]:
    """An environment as activating the interpreter's virtual environment makes it."""
    result = clean_environment(env)
    folder = os.path.dirname(python)
    if os.path.isfile(os.path.join(os.path.dirname(folder), "pyvenv.cfg")):
        result["VIRTUAL_ENV"] = os.path.dirname(folder)
        entries = [folder, *(entry for entry in result.get("PATH", "").split(os.pathsep) if entry != folder)]
        result["PATH"] = os.pathsep.join(entries)
    return result


def _version(text: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in text.split("+")[0].split("."):
        digits = "".join(character for character in part if character.isdecimal())
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version))
