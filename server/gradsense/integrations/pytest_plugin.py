"""The pytest plugin. It is imported by every run of pytest where GradSense is installed, so it imports nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gradsense.integrations.stepping import GradsenseStep

_MARKER = (
    "gradsense(passes=3, check_growth=True, check_silent=True, check_nan=True): how the fixture gradsense_step judges "
    "the steps of this test"
)


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def gradsense_step(request: pytest.FixtureRequest) -> GradsenseStep:
    """Runs a training step a few times under GradSense's probe, and fails with the report if its graph grows from pass
    to pass, if its backward raises, or if a gradient comes out wrong without an error.

    gradsense_step(step) calls `step()`; arguments behind it are passed on.
    with gradsense_step.watch() as watched: watches what is in the block, such as a call of a whole training function;
    a loop in the block itself is `for batch in watched.passes(loader)`.
    """
    from gradsense.integrations.stepping import GradsenseStep

    options: dict[str, object] = {}
    for marker in reversed(list(request.node.iter_markers("gradsense"))):
        if marker.args:
            pytest.fail(f"the marker gradsense takes settings by name, such as passes=5: {marker.args}", pytrace=False)
        options.update(marker.kwargs)
    try:
        return GradsenseStep(request.config, options)
    except ValueError as error:
        raise pytest.fail.Exception(f"the marker gradsense: {error}", pytrace=False) from None
