"""Runs the samples, op by op, and counts how they went."""

from __future__ import annotations

import signal
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import torch

from opsmeasure.naming import OPERATORS
from opsmeasure.observe import Observation, observe
from opsmeasure.samples import Sample
from opsmeasure.samples_opdb import entries, samples_of
from opsmeasure.samples_own import own_samples
from opsmeasure.signing import key_of

_SECONDS = 60


class _TimeoutError(BaseException):
    """Not an Exception, so that no handler in torch swallows it."""


def _ring(*_: object) -> None:
    raise _TimeoutError


@dataclass
class Gathered:
    """What was measured, by table key, and the aliases that op_db tells."""

    observed: dict[str, list[Observation]] = field(default_factory=lambda: defaultdict(list))
    aliases: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def _wanted(name: str, only: Collection[str]) -> bool:
    stripped = name if name.endswith("__") else name.rstrip("_")
    return not only or bool({key_of(stripped), OPERATORS.get(name, name), f"Tensor.{stripped}"} & set(only))


def _groups(most: int, only: Collection[str], into: Gathered) -> Iterator[tuple[str, list[Sample]]]:
    own: dict[str, list[Sample]] = defaultdict(list)
    torch.manual_seed(0)
    for sample in own_samples():
        own[sample.name].append(sample)
    yield from ((name, group) for name, group in own.items() if _wanted(name, only))
    for op in entries():
        if not _wanted(op.name, only):
            continue
        into.aliases.update({alias.name: op.name for alias in op.aliases})
        torch.manual_seed(zlib.crc32(op.name.encode()))  # so that an op measured alone gets the same samples
        try:
            yield op.name, samples_of(op, most)
        except Exception as error:
            into.counts["op_db entries without samples"] += 1
            into.problems.append(f"{op.name}: no samples, {type(error).__name__}: {error}"[:160])


def gather(most: int, only: Collection[str] = ()) -> Gathered:
    """Measures at most so many of op_db's samples an entry, and all of ours; ``only`` limits the ops by table key."""
    into = Gathered()
    signal.signal(signal.SIGALRM, _ring)
    for name, group in _groups(most, only, into):
        signal.alarm(_SECONDS)
        try:
            for sample in group:
                _one(sample, into)
        except _TimeoutError:
            into.problems.append(f"{name}: longer than {_SECONDS} seconds")
        finally:
            signal.alarm(0)
    return into


def _one(sample: Sample, into: Gathered) -> None:
    try:
        seen = observe(sample)
    except Exception as error:
        into.counts["calls that torch refused"] += 1
        if sample.ours:
            into.problems.append(f"{sample.name}: {type(error).__name__}: {error}"[:160])
        return
    if seen is None:
        into.counts["calls left out"] += 1
        return
    into.counts["calls"] += 1
    into.observed[seen.key].append(seen)
    for item in [*seen.measured, *(seen.inplace or ())]:
        into.counts["measurements"] += 1
        into.counts["both instruments agree"] += item.agree
        if not item.agree:
            into.problems.append(f"{sample.name}: the instruments differ for {item.wrt}: {sorted(item.saved)}")
