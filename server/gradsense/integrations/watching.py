"""The probe in a process that goes on afterwards, and from what it has seen to a report."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING

from gradsense.run.interpreters import OLDEST_TORCH
from gradsense.run.report import Report

if TYPE_CHECKING:
    from gradsense.run.inside.existing import Text
    from gradsense.run.inside.probe import Probe

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Unusable(Exception):
    """The probe cannot be used here; the message says why, and what to do."""


class NoTorch(Unusable):
    """There is no torch."""


_watching = False


@contextlib.contextmanager
def watched(
    *,
    files: Iterable[str] = (),
    roots: Iterable[str] = (),
    texts: Iterable[Text] = (),
    passes: int = 0,
    batches: int = 0,
    check_nan: bool = True,
) -> Iterator[Probe]:
    """Watches everything that autograd does in this process, and leaves nothing on afterwards.

    Args:
        files: the file names of the user's code objects.
        roots: folders whose modules are the user's, too.
        texts: what functions of other files were compiled from.
        passes: training loops are ended after so many passes; 0 lets them run.
        batches: data loaders yield so many batches; 0 lets them run.
        check_nan: whether a walk that yields NaN raises.

    Raises:
        NoTorch: there is none.
        Unusable: it is too old, or a step is being watched already.
    """
    global _watching
    if _watching:
        raise Unusable("a step is being watched already; one cannot be watched within another")
    _need_torch()
    from gradsense.run.inside.existing import modules
    from gradsense.run.inside.probe import Probe

    probe = Probe(files=files, roots=roots, passes=passes, batches=batches, check_nan=check_nan)
    probe.places.leave_out(PACKAGE)
    probe.live_on([*modules(probe.places), *texts])
    _watching = True
    try:
        with probe, _only_new_objects():
            yield probe
    finally:
        _watching = False
        if probe.error is not None:
            probe.error.__traceback__ = without_ours(probe.error.__traceback__)


def report_of(probe: Probe) -> Report:
    """What it has seen."""
    return Report.from_json(probe.report())


def _need_torch() -> None:
    if sys.modules.get("torch") is None and find_spec("torch") is None:
        raise NoTorch(f"torch is not installed in {sys.executable}")
    import torch

    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2] if part.isdecimal())
    if version < OLDEST_TORCH:
        raise Unusable(f"torch is {torch.__version__} here, and {'.'.join(map(str, OLDEST_TORCH))} or newer is needed")


@contextlib.contextmanager
def _only_new_objects() -> Iterator[None]:
    """Has each look at what is alive pass over what existed before, unless the program does such a thing itself."""
    if gc.get_freeze_count():
        yield
        return
    from gradsense.run.inside.probe import only_new_objects

    with only_new_objects():
        yield


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the lines of the probe, which stand between the user's and torch's, and without those of
    torch that only the probe leads through."""
    if traceback is None:
        return None
    code = traceback.tb_frame.f_code
    rest = without_ours(traceback.tb_next)
    if code.co_filename.startswith(PACKAGE):
        return None if code.co_name == "__torch_dispatch__" else rest
    traceback.tb_next = rest
    return traceback
