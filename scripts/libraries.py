"""Gathers the libraries that the extension carries, for every supported Python of one platform.

usage: python scripts/libraries.py FOLDER TARGET        (TARGET is one of VS Code's, such as linux-x64)

Nothing of the running Python's own libraries is taken: the wheels are downloaded as `requirements.lock` names them.
Most hold Python only and serve all; native modules bear the name of their Python, so those of all stand side by side in
one folder. Where versions differ between Pythons, those of one Python get a folder of their own (`py310`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from packaging.markers import Environment, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Version = tuple[int, int]
Pythons = tuple[Version, ...]

ROOT = Path(__file__).resolve().parents[1]
PYTHONS: Pythons = ((3, 10), (3, 11), (3, 12), (3, 13), (3, 14))
# Where wheels are missing: the Pythons that there are some for, and the newest version that has them.
PYTHONS_OF: dict[str, Pythons] = {"win32-arm64": PYTHONS[1:]}
VERSIONS_OF = {"darwin-x64": {"libcst": "1.8.6"}}
# The oldest systems that VS Code itself still runs on.
PLATFORMS = {
    "linux-x64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "alpine-x64": ("musllinux_1_2_x86_64", "musllinux_1_1_x86_64"),
    "alpine-arm64": ("musllinux_1_2_aarch64", "musllinux_1_1_aarch64"),
    "darwin-x64": ("macosx_11_0_x86_64",),
    "darwin-arm64": ("macosx_11_0_arm64", "macosx_12_0_arm64"),
    "win32-x64": ("win_amd64",),
    "win32-arm64": ("win_arm64",),
}
SYSTEMS = {"linux": "linux", "alpine": "linux", "darwin": "darwin", "win32": "win32"}
# What a library brings for its own tests and builds, and what jedi brings about packages other than Python's own.
NEEDLESS = re.compile(
    r"(^|/)tests?/|\.(pyx|c|rs|h)$|^jedi/third_party/(django-stubs|typeshed/stubs)/|\.dist-info/RECORD$"
)
# Needed by what a library's own commands do, and by nothing that is imported here.
UNUSED = frozenset({"pyyaml", "pyyaml-ft"})


def main(folder: Path, target: str) -> None:
    """Fills the folder, which is made anew."""
    if target not in PLATFORMS:
        raise SystemExit(f"There are no libraries for {target}; there are for {', '.join(PLATFORMS)}.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        wheels = download(Path(scratch), target)
        for python, found in wheels.items():
            for wheel in found:
                # A version that not all Pythons share must not stand in another's way.
                shared = native_or_same(wheel, wheels)
                unpack(wheel, folder if shared else folder / "py{}{}".format(*python))
    check(folder, target)


def download(scratch: Path, target: str) -> dict[Version, list[Path]]:
    """The wheels for each Python; those that hold Python only are downloaded once."""

    def fetch(python: Version, known: list[Path]) -> list[Path]:
        place = scratch / "{}.{}".format(*python)
        pure = {
            (project_of(wheel), version_of(wheel)): wheel for wheel in known if wheel.name.endswith("-none-any.whl")
        }
        asked = {
            (canonicalize_name(one.name), str(one.specifier).removeprefix("==")): one for one in locked(python, target)
        }
        pip_download(place, [one for key, one in asked.items() if key not in pure], python, target)
        wheels = {project_of(wheel): wheel for wheel in place.glob("*.whl")}
        wheels |= {key[0]: wheel for key, wheel in pure.items() if key in asked}
        return [wheels[name] for name in needed(wheels, python, target)]

    first, *others = pythons_of(target)
    found = {first: fetch(first, [])}
    with ThreadPoolExecutor(2) as pool:
        found |= zip(others, pool.map(lambda python: fetch(python, found[first]), others), strict=True)
    return found


def pip_download(place: Path, requirements: list[Requirement], python: Version, target: str) -> None:
    version = "{}.{}".format(*python)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(place), "--implementation", "cp"]
    command += ["--python-version", version]
    for platform in PLATFORMS[target]:
        command += ["--platform", platform]
    done = subprocess.run(
        [*command, *(f"{found.name}{found.specifier}" for found in requirements)],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}{done.stderr}\nThe libraries for Python {version} could not be downloaded.")


def locked(python: Version, target: str) -> list[Requirement]:
    """What `requirements.lock` names for a Python, or what stands in for it on the target."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    instead = VERSIONS_OF.get(target, {})
    return [
        Requirement(f"{one.name}=={instead[one.name]}") if one.name in instead else one
        for one in found
        if canonicalize_name(one.name) not in UNUSED
        and (one.marker is None or one.marker.evaluate(environment(python, target)))
    ]


def needed(wheels: dict[str, Path], python: Version, target: str) -> list[str]:
    """The names that the package needs to run, however far off; the lock file holds what building needs too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = [Requirement(text) for text in project["dependencies"]]
    found: list[str] = []
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        fits = requirement.marker is None or requirement.marker.evaluate(environment(python, target))
        if fits and name in wheels and name not in found:
            found.append(name)
            waiting += requirements_of(wheels[name])
    return sorted(found)


def requirements_of(wheel: Path) -> Iterator[Requirement]:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
        for line in archive.read(name).decode("utf-8").splitlines():
            if line.startswith("Requires-Dist:"):
                yield Requirement(line.partition(":")[2].strip())
            if not line:
                return


def environment(python: Version, target: str) -> Environment:
    """What markers see on a Python of the target."""
    values = default_environment()
    version = "{}.{}".format(*python)
    values.update(python_version=version, python_full_version=f"{version}.0", implementation_version=f"{version}.0")
    values["sys_platform"] = SYSTEMS[target.partition("-")[0]]
    values["platform_system"] = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[values["sys_platform"]]
    values["extra"] = ""  # type: ignore[typeddict-unknown-key]
    return values


def pythons_of(target: str) -> Pythons:
    """The Pythons that run the server on a target."""
    return PYTHONS_OF.get(target, PYTHONS)


def check(folder: Path, target: str) -> None:
    """Makes sure that every Python of the target finds every native module, and that it is one for that system.

    Raises:
        SystemExit: one is missing, or is for another system.
    """
    native = [path for path in folder.rglob("*") if path.suffix in (".so", ".pyd")]
    for name in sorted({path.name.partition(".")[0] for path in native}):
        for python in pythons_of(target):
            suffix = suffix_of(python, target)
            places = (folder / "py{}{}".format(*python), folder)
            if not any((path.parent.parent in places) and path.name == f"{name}{suffix}" for path in native):
                raise SystemExit(f"{target}: Python {python[0]}.{python[1]} finds no {name}{suffix}")
    for path in native:
        if not is_for(path.read_bytes(), target):
            raise SystemExit(f"{target}: {path.relative_to(folder)} is for another system")


def suffix_of(python: Version, target: str) -> str:
    """What the names of a Python's native modules end with."""
    system, _, machine = target.partition("-")
    version = "{}{}".format(*python)
    if system == "win32":
        return f".cp{version}-win_{'amd64' if machine == 'x64' else machine}.pyd"
    if system == "darwin":
        return f".cpython-{version}-darwin.so"
    # Python tells the two C libraries apart from 3.11 on: on Alpine, modules of older ones bear the other's name.
    library = "musl" if system == "alpine" and python >= (3, 11) else "gnu"
    return f".cpython-{version}-{'x86_64' if machine == 'x64' else 'aarch64'}-linux-{library}.so"


def is_for(module: bytes, target: str) -> bool:
    """Whether a native module is one for the target's system and machine."""
    system, _, machine = target.partition("-")
    if system == "win32":
        at = int.from_bytes(module[0x3C:0x40], "little")
        return module[at : at + 6] == b"PE\0\0" + {"x64": b"\x64\x86", "arm64": b"\x64\xaa"}[machine]
    if system == "darwin":
        return module[:8] == b"\xcf\xfa\xed\xfe" + {"x64": b"\7\0\0\1", "arm64": b"\x0c\0\0\1"}[machine]
    elf = module[:4] == b"\x7fELF" and module[18:20] == {"x64": b"\x3e\0", "arm64": b"\xb7\0"}[machine]
    return elf and (b"\0libc.so.6\0" in module) is (system == "linux")


def native_or_same(wheel: Path, wheels: dict[Version, list[Path]]) -> bool:
    """Whether every Python that has this project has it in the same version."""
    name, version = parse_wheel_filename(wheel.name)[:2]
    others = [parse_wheel_filename(other.name)[:2] for found in wheels.values() for other in found]
    return all(other == version for project, other in others if project == name)


def project_of(wheel: Path) -> str:
    return str(parse_wheel_filename(wheel.name)[0])


def version_of(wheel: Path) -> str:
    return str(parse_wheel_filename(wheel.name)[1])


def unpack(wheel: Path, folder: Path) -> None:
    """Puts a wheel's files in a folder; what is there already must be the same.

    Raises:
        SystemExit: two Pythons' wheels of one version hold different files of one name.
    """
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            name = entry.filename
            if entry.is_dir() or ".data/" in name or NEEDLESS.search(name):
                continue
            path = folder / PurePosixPath(name)
            data = archive.read(entry)
            if path.exists() and path.read_bytes() != data and ".dist-info/" not in name:
                raise SystemExit(f"{wheel.name}: {name} differs between Pythons")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
