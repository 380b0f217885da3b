"""What the fixture `gradsense_step` is: runs a step under the probe, judges it, and fails the test with the report."""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from gradsense.integrations.watching import NoTorch, Unusable, report_of, watched
from gradsense.run import words
from gradsense.run.report import Report

if TYPE_CHECKING:
    from gradsense.run.inside.probe import Probe

Item = TypeVar("Item")

FEWEST_PASSES = 3


@dataclass(frozen=True)
class Judgement:
    """What a test asks of its step.

    Args:
        passes: how often it is called; growth shows from three passes on.
        check_growth: whether a graph that grows from pass to pass is a failure.
        check_silent: whether a gradient that comes out wrong without an error is one.
        check_nan: whether a gradient that is not a number is one.
    """

    passes: int = FEWEST_PASSES
    check_growth: bool = True
    check_silent: bool = True
    check_nan: bool = True

    def with_options(self, options: Mapping[str, object]) -> Judgement:
        """The same with some settings changed.

        Raises:
            ValueError: there is no such setting, or its value is none that it can have.
        """
        known = [item.name for item in fields(self)]
        for name, value in options.items():
            if name not in known:
                raise ValueError(f"there is no setting {name}; those of gradsense are {', '.join(known)}")
            if name == "passes" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ValueError(f"passes is {value!r}, and must be a number from 1")
            if name != "passes" and not isinstance(value, bool):
                raise ValueError(f"{name} is {value!r}, and must be True or False")
        changed: dict[str, Any] = dict(options)
        new = replace(self, **changed)
        if new.passes < FEWEST_PASSES and new.check_growth:
            raise ValueError(
                f"whether a graph grows shows from {FEWEST_PASSES} passes on; passes={new.passes} needs "
                "check_growth=False"
            )
        return new

    def failed(self, report: Report) -> bool:
        """Whether a step that did not raise is a failure."""
        grows = report.outcome == "grows" or report.verdict == "grows"
        return (grows and self.check_growth) or (bool(report.silent) and self.check_silent)


class Watched:
    """What `gradsense_step.watch()` gives.

    Attributes:
        report: what was seen, once the block is over.
    """

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self.report: Report | None = None

    def passes(self, items: Iterable[Item]) -> Iterator[Item]:
        """Goes through items and takes each for a pass of a training loop that stands where this is called."""
        frame = sys._getframe(1)
        path = frame.f_code.co_filename
        self._probe.places.add(path)
        return self._probe.loops.watch(items, path, frame.f_lineno)


class GradsenseStep:
    """The value of the fixture `gradsense_step`.

    Args:
        config: pytest's.
        options: the settings of the test's marker.

    Raises:
        ValueError: there is no such setting, or its value is none that it can have.
    """

    def __init__(self, config: pytest.Config, options: Mapping[str, object]) -> None:
        self._root = str(config.rootpath)
        self._whole = config.get_verbosity() >= 2
        self._judgement = Judgement().with_options(options)

    def __call__(
        self,
        step: Callable[..., object],
        /,
        *args: object,
        passes: int | None = None,
        check_growth: bool | None = None,
        check_silent: bool | None = None,
        check_nan: bool | None = None,
        **kwargs: object,
    ) -> Report:
        """Calls a step a few times, and fails the test with the report if something is wrong with it.

        Args:
            step: one training step, from forward to the optimizer's step.
            args, kwargs: what it is called with.
            passes: how often it is called.
            check_growth: whether a graph that grows from pass to pass is a failure.
            check_silent: whether a gradient that comes out wrong without an error is one.
            check_nan: whether a gradient that is not a number is one.

        Returns:
            What was seen, for further checks: `loss` of each pass, `passes` with what each left behind.

        Raises:
            TypeError: the step cannot be called.
            ValueError: a setting cannot be.
            Exception: what the step raises itself, unless it is autograd that does not go along.
        """
        __tracebackhide__ = True
        if not callable(step):
            raise TypeError(f"gradsense_step takes a function that does one step, not {type(step).__name__}")
        if inspect.iscoroutinefunction(step):
            raise TypeError("gradsense_step calls plain functions; run the coroutine in one, as by asyncio.run")
        judgement = self._judge(passes, check_growth, check_silent, check_nan)
        frame = sys._getframe(1)

        def call() -> object:
            return step(*args, **kwargs)

        call_or_step = call if args or kwargs else step
        with self._watch(judgement, frame) as seen:
            seen._probe.repeat(call_or_step, judgement.passes, frame, step)
        assert seen.report is not None
        return seen.report

    @contextlib.contextmanager
    def watch(
        self, *, check_growth: bool | None = None, check_silent: bool | None = None, check_nan: bool | None = None
    ) -> Iterator[Watched]:
        """Watches what is in a `with` block, and fails the test with the report if something is wrong with it.

        Loops of functions that are called in the block are seen, a loop in the block itself if it goes through
        `passes` of what this gives.

        Args:
            check_growth: whether a graph that grows from pass to pass is a failure.
            check_silent: whether a gradient that comes out wrong without an error is one.
            check_nan: whether a gradient that is not a number is one.
        """
        __tracebackhide__ = True
        frame = sys._getframe(2)  # past contextlib's
        with self._watch(self._judge(None, check_growth, check_silent, check_nan), frame) as seen:
            yield seen

    def _judge(self, passes: int | None, growth: bool | None, silent: bool | None, nan: bool | None) -> Judgement:
        given = {"passes": passes, "check_growth": growth, "check_silent": silent, "check_nan": nan}
        return self._judgement.with_options({name: value for name, value in given.items() if value is not None})

    @contextlib.contextmanager
    def _watch(self, judgement: Judgement, frame: FrameType) -> Iterator[Watched]:
        __tracebackhide__ = True
        test = frame.f_code.co_filename
        manager = watched(files=[test], roots=[self._root], check_nan=judgement.check_nan)
        try:
            probe = manager.__enter__()
        except NoTorch as error:
            pytest.skip(f"gradsense_step: {error}")
        except Unusable as error:
            raise pytest.fail.Exception(f"gradsense_step: {error}", pytrace=False) from None
        seen = Watched(probe)
        failure: BaseException | None = None
        try:
            yield seen
        except BaseException as error:
            failure = error
        manager.__exit__(type(failure) if failure else None, failure, failure.__traceback__ if failure else None)
        seen.report = report = report_of(probe)
        if failure is not None:
            if report.outcome in ("raises", "nan"):
                raise pytest.fail.Exception(_page(report, test, self._whole), pytrace=False) from None
            raise failure
        if judgement.failed(report):
            raise pytest.fail.Exception(_page(report, test, self._whole), pytrace=False)


def _page(report: Report, test: str, whole: bool) -> str:
    """The report as text."""
    from gradsense.cli.formats.run_full import Surroundings, write_page
    from gradsense.cli.formats.run_texts import Texts
    from gradsense.cli.terminal import console
    from gradsense.syntax import Source

    out = io.StringIO()
    around = Surroundings(unfolding="-vv")
    write_page(report, around, Texts(Source.from_path(test)), console(out, "never"), whole=whole)
    return f"{_summary(report)}\n\n{out.getvalue().rstrip()}"


def _summary(report: Report) -> str:
    """The first line, which pytest repeats at its end."""
    if report.outcome == "nan":
        return "a gradient of the step is not a number"
    if report.outcome == "raises":
        return f"the step raises {report.error.type if report.error else 'an error'}"
    if report.outcome == "grows" or report.verdict == "grows":
        return f"the step's graph grows{words.held(report.holders)}"
    return "a gradient of the step came out wrong, and torch does not notice"
