"""What was found in one unit, and what may make it out of date."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import cast

from gradsense.machine.events import Event
from gradsense.machine.interpreter import Machine
from gradsense.machine.limits import SIZE
from gradsense.machine.merging import REVOCABLE, merged
from gradsense.machine.values import Site, origin_of

Facts = dict[Site, str]


@dataclass
class Exploration:
    """What was found in one file, or in one unit of it.

    Attributes:
        events: what happened, each with whether it is certain.
        sites: every walk that was reached, by place, and whether its graph was fully known.
        doubts: why it was not, for those where it was not.
        called: the functions that were entered.
        behind: those that were entered behind an error, as if that were mended.
        files: the files that were loaded, or looked into before, by their real paths.
        paths: how many paths were run.
        left_out: what bounds on work left out, as `limits` words it.
        walks_by_itself: whether the module level walks a graph: the file is a whole program.
        failures: statements that the machine itself could not run.
    """

    events: list[Event] = field(default_factory=list)
    sites: dict[tuple[object, ...], bool] = field(default_factory=dict)
    doubts: dict[tuple[object, ...], str] = field(default_factory=dict)
    called: set[ast.AST] = field(default_factory=set)
    behind: set[ast.AST] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    paths: int = 0
    left_out: set[str] = field(default_factory=set)
    walks_by_itself: bool = False
    failures: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, machines: Sequence[Machine]) -> Exploration:
        """The outcome of several paths of one unit."""
        found = cls(events=merged(list(machines)))
        for machine in machines:
            found.paths += 1
            found.called |= machine.called | machine.handed_over
            found.files |= machine.loaded.keys() | machine.consulted
            found.left_out |= machine.left_out
            found.failures += [f for f in machine.failures if f not in found.failures]
            for key, known in machine.sites.items():
                found.sites[key] = found.sites.get(key, False) or known
            found.doubts.update(machine.doubts)
        return found

    def enters(self, functions: Set[ast.AST]) -> bool:
        """Whether one of some functions was entered."""
        return not (self.called.isdisjoint(functions) and self.behind.isdisjoint(functions))

    def add(self, other: Exploration) -> None:
        """Takes in what another unit came to."""
        self.events += other.events
        self.called |= other.called
        self.files |= other.files
        self.paths += other.paths
        self.left_out |= other.left_out
        self.failures += [f for f in other.failures if f not in self.failures]
        for key, known in other.sites.items():
            self.sites[key] = self.sites.get(key, False) or known
        self.doubts.update(other.doubts)


@dataclass
class Outcome:
    """What was found in one unit.

    Attributes:
        found: what its paths came to; while only some were run, what earlier ones came to as well.
        whole: whether all paths were run.
        on_first: the ids of the events that the first path met.
        given: what was known of unknown values that are not the unit's own.
        learnt: what its run added to that.
        from_clean: whether the module level was ready when it began; where not, it ran that again.
        leaves_clean: whether it left the module level so that others can start from it.
        seconds: how long the first path took.
        reads: the names that its run looked up in scopes of files.
        stale: whether it may say something else now.
        suspect: whether that depends on what the module level leaves, which is to be run again.
    """

    found: Exploration
    whole: bool
    on_first: frozenset[int]
    given: Facts
    learnt: Facts
    from_clean: bool
    leaves_clean: bool
    seconds: float
    reads: frozenset[str] = frozenset()
    stale: bool = False
    suspect: bool = False

    @property
    def is_doubtful(self) -> bool:
        """Whether it may say something else now, as far as is known."""
        return self.stale or self.suspect

    @classmethod
    def of_nothing(cls, clean: bool) -> Outcome:
        """That of a unit that need not be run, as long as one before it is like it.

        Args:
            clean: whether the module level is ready before it, and so behind it.
        """
        return cls(Exploration(), True, frozenset(), {}, {}, clean, clean, 0.0, stale=True)

    @property
    def is_uneventful(self) -> bool:
        """Whether it was run to its end, walked no graph, learnt nothing and nothing was found."""
        found = self.found
        return not (found.events or found.sites or found.failures or found.left_out - {SIZE} or self.learnt)

    def go_on_from(self, earlier: Outcome | None) -> None:
        """Keeps what an earlier run found on paths that were not run yet, and nothing new that they may take back.

        Args:
            earlier: the outcome before the program changed.
        """
        before = {event.key: event for event in earlier.found.events} if earlier is not None else {}
        events = []
        for event in self.found.events:
            known = before.get(event.key)
            if known is not None:
                event.certain = event.certain and known.certain
                events.append(event)
            elif not isinstance(event, REVOCABLE):
                events.append(event)
        if earlier is not None:
            keys = {event.key for event in events}
            events += [e for e in earlier.found.events if id(e) not in earlier.on_first and e.key not in keys]
        self.found.events = events

    def move(self, path: str, line: Callable[[int], int]) -> None:
        """Moves what is known of a file's values with its lines."""
        self.given = {_moved(site, path, line): fact for site, fact in self.given.items()}
        self.learnt = {_moved(site, path, line): fact for site, fact in self.learnt.items()}


def _moved(site: Site, path: str, line: Callable[[int], int]) -> Site:
    if isinstance(site[0], tuple):
        return (_moved(site[0], path, line), *site[1:])
    _, stack = origin_of(site)
    places = tuple((p, line(cast("int", at)) if p == path else at, *rest) for p, at, *rest in stack)
    at = line(cast("int", site[1])) if site[0] == path else site[1]
    return (site[0], at, *site[2:4], places)
