"""States that go from pass to pass."""

from __future__ import annotations

from .builder import Builder, Module


class Recurrence:
    """A state that goes from pass to pass: how it starts, what a pass does with it, and how it is cut."""

    def __init__(self, b: Builder, home: str = "") -> None:
        self.b = b
        self.kind = b.choice(["plain", "gru", "lstm_cell", "rnn", "lstm", "gru_seq", "dict", "list"])
        self.home = home
        state = f"{home}state"
        self.state = {"dict": f'{state}["h"]', "list": f"{state}[0]"}.get(self.kind, state)
        self.cell = f"{home}cell"
        self.careful = not b.risky(0.7)

    def setup(self) -> None:
        """Writes the cell and the first state."""
        b, makers = self.b, {"gru": "nn.GRUCell(4, 4)", "lstm_cell": "nn.LSTMCell(4, 4)", "rnn": "nn.RNNCell(4, 4)"}
        makers |= {"lstm": "nn.LSTM(4, 4)", "gru_seq": "nn.GRU(4, 4)", "dict": "nn.GRUCell(4, 4)"}
        b.used(f"state:{self.kind}")
        b.emit(f"{self.cell} = {makers.get(self.kind, 'nn.Linear(4, 4)')}")
        zeros = "torch.zeros(3, 4)"
        first = {
            "lstm_cell": f"({zeros}, {zeros})",
            "lstm": "None",
            "gru_seq": "None",
            "dict": f'{{"h": {zeros}}}',
            "list": f"[{zeros}]",
        }
        b.emit(f"{self.home}state = {first.get(self.kind, zeros)}")
        b.scope.taken |= {"cell", "state"}

    def module(self) -> Module:
        """The cell, for an optimizer."""
        return Module(self.cell, "cell")

    def advance(self) -> None:
        """Writes the use of the state; leaves an M in scope."""
        b, s, cell = self.b, self.state, self.cell
        x, _ = b.expand("{M}", 0)
        x = f"({x})"
        if self.kind == "lstm_cell":
            b.emit(
                b.choice(
                    [f"{s} = {cell}({x}, {s})\nmemo = {s}[0]", f"hh, cc = {cell}({x}, {s})\n{s} = (hh, cc)\nmemo = hh"]
                )
            )
        elif self.kind in ("lstm", "gru_seq"):
            seq = b.choice([f"{x}.unsqueeze(0)", f"torch.stack([{x}, {x}])"])
            b.emit(f"memo, {s} = {cell}({seq}, {s})\nmemo = memo[-1]")
        elif self.kind in ("gru", "rnn", "dict"):
            b.emit(f"{s} = {cell}({x}, {s})\nmemo = {s}")
            if b.chance(0.2):
                b.emit(f"memo = {b.choice([f'{s} * 2', f'{s}.sigmoid()'])}")
        else:
            way = b.choice(
                ["torch.tanh({c}({x}) + {s})", "0.9 * {s} + {c}({x})", "{c}({s}) + {x}", "{s} + torch.relu({c}({x}))"]
            )
            b.emit(f"{s} = {way.format(c=cell, x=x, s=s)}\nmemo = {s}")
        b.declare("memo", "M", True)
        b.scope.taken.add("memo")
        if self.kind in ("gru", "rnn", "plain") and b.risky(0.2):
            b.emit(b.choice([f"{s} += 0.1", f"{s}.mul_(0.9)", f"{s}[0] = 0.0"]), "write:state")

    def cut(self) -> None:
        """Writes the end of a pass: the state is detached, or not."""
        b, s = self.b, self.state
        if not self.careful:
            b.used("carried state")
            return
        if self.kind in ("lstm_cell", "lstm"):
            ways = [f"{s} = tuple(t.detach() for t in {s})", f"{s} = ({s}[0].detach(), {s}[1].detach())", f"{s} = None"]
            ways += [
                f"for t in {s}:\n    t.detach_()",
                f"h_, c_ = {s}\n{s} = h_.data, c_.data",
                f"{s} = [t.detach() for t in {s}]",
            ]
            if self.kind == "lstm_cell":
                ways.remove(f"{s} = None")
            b.emit(b.choice(ways), "detach state")
        else:
            b.emit(
                b.choice([f"{s} = {s}.detach()", f"{s}.detach_()", f"{s} = {s}.data", f"{s} = {s}.detach().clone()"]),
                "detach state",
            )
