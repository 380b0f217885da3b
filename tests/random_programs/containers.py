"""Lists, dictionaries, tuples and the outputs of multi-output views, and Python around them."""

from __future__ import annotations

from .basic import bind, write_to
from .builder import Builder


def unpack_views(b: Builder) -> None:
    """The outputs of chunk, split or unbind, unpacked; perhaps written to."""
    text, graph = b.tensor("M", 1)
    ways = [("H", 2, ".chunk(2, dim=1)"), ("H", 2, ".split(2, dim=1)"), ("V", 3, ".unbind(0)"), ("V", 3, "")]
    shape, count, way = b.choice(ways)
    names = [b.fresh(shape) for _ in range(count)]
    b.emit(f"{', '.join(names)} = ({text}){way}", "unpack")
    views = [b.declare(name, shape, graph) for name in names]
    if b.risky(0.6):
        write_to(b, views[0].text, shape)
    elif b.chance(0.4):
        b.emit(f"{names[0]} = {names[0]} * {b.number()}")


def over_rows(b: Builder) -> None:
    """A loop over the rows of a tensor that sums something up."""
    text, graph = b.tensor("M", 0)
    total, row = b.fresh("S"), b.name("row")
    b.emit(f"{total} = {b.choice(['0', '0.0', 'torch.zeros(())'])}")
    header = b.choice([f"for {row} in {text}:", f"for {row} in ({text}).unbind(0):"])
    index = None
    if b.chance(0.4):
        index = b.name("i")
        header = f"for {index}, {row} in enumerate({text}):"
    with b.block(header, "loop:rows"):
        b.declare(row, "V", graph)
        if b.risky(0.5):
            write_to(b, row, "V")
        term, got = b.expand(b.choice(["{V}.sum()", f"{row}.pow(2).mean()", f"({row} * {{V}}).sum()"]), 0)
        if index and b.chance(0.5):
            with b.block(f"if {index} == 1:"):
                b.emit("continue")
        b.emit(b.choice([f"{total} = {total} + {term}", f"{total} += {term}"]))
    b.declare(total, "S", graph or got)


def build_list(b: Builder) -> None:
    """A list filled in a loop or a comprehension, then stacked, summed or indexed."""
    shape = b.choice(["M", "V", "V", "S"])
    items, index = b.name(b.choice(["parts", "outs", "rows_", "pieces"])), b.name("k")
    graphs = []
    if b.chance(0.4):
        text, graph = b.tensor(shape, 1)
        b.emit(f"{items} = [({text}) * ({index} + 1) for {index} in range(3)]", "comprehension")
        graphs.append(graph)
    else:
        b.emit(f"{items} = []")
        with b.block(f"for {index} in range(3):", "loop:range"):
            text, graph = b.tensor(shape, 1)
            graphs.append(graph)
            b.emit(b.choice([f"{items}.append({text})", f"{items} += [{text}]"]), "list")
    if b.chance(0.25):
        graphs.append(write_to(b, f"{items}[{b.choice(['0', '1', '-1'])}]", shape))
    graph = any(graphs)
    if shape == "V":
        bind(b, "M", b.choice([f"torch.stack({items})", f"torch.cat({items}).view(3, 4)"]), graph)
    elif shape == "M":
        ways = [f"sum({items})", f"torch.stack({items}).mean(0)", f"{items}[0] + {items}[-1]", f"{items}.pop()"]
        bind(b, "M", b.choice(ways), graph)
    else:
        bind(b, "S", b.choice([f"torch.stack({items}).sum()", f"sum({items}) / len({items})", f"max({items})"]), graph)
    if shape == "V" and b.chance(0.3):
        b.declare(f"{items}[0]", "V", graph)


def build_dict(b: Builder) -> None:
    """A dictionary of tensors: stored, read back, iterated."""
    cache = b.name(b.choice(["cache", "state", "outputs", "stats"]))
    keys = b.choice([["h", "z"], ["mean", "scale"], ["first", "last"]])
    graphs = []
    texts = []
    for key in keys:
        text, graph = b.tensor("M", 1)
        texts.append(f'"{key}": {text}')
        graphs.append(graph)
    b.emit(f"{cache} = {{{', '.join(texts)}}}", "dict")
    entries = [b.declare(f'{cache}["{key}"]', "M", graph) for key, graph in zip(keys, graphs, strict=True)]
    if b.chance(0.3):
        text, graph = b.tensor("M", 1)
        b.emit(f"{entries[0].text} = {text}")
        entries[0].graph = graph
    if b.chance(0.3):
        write_to(b, entries[1].text, "M")
    if b.chance(0.4):
        total = b.fresh("S")
        loop = b.choice([f"for key, value in {cache}.items():", f"for value in {cache}.values():"])
        b.emit(f"{total} = 0.0")
        with b.block(loop, "loop:dict"):
            if "key" in loop and b.chance(0.5):
                with b.block(f'if key == "{keys[0]}":'):
                    b.emit("continue")
            b.emit(f"{total} = {total} + value.mean()")
        b.declare(total, "S", any(graphs))


def tuples(b: Builder) -> None:
    """Tuples, starred targets, swaps."""
    first, graph = b.tensor("M", 1)
    second, other = b.tensor("M", 1)
    if b.chance(0.5):
        one, two = b.fresh("M"), b.fresh("M")
        b.emit(f"{one}, {two} = {first}, {second}", "tuple")
        b.declare(one, "M", graph)
        b.declare(two, "M", other)
        if b.chance(0.2):
            b.emit(f"{one}, {two} = {two}, {one}")
    elif b.chance(0.5):
        one, rest = b.fresh("M"), b.name("rest")
        b.emit(f"{one}, *{rest} = [{first}, {second}, {second}]", "star")
        b.declare(one, "M", graph)
        b.declare(f"{rest}[0]", "M", other)
    else:
        pair = b.name("pair")
        b.emit(f"{pair} = ({first}, {second})", "tuple")
        b.declare(f"{pair}[0]", "M", graph, loose=False)
        b.declare(f"{pair}[1]", "M", other, loose=False)
        bind(b, "M", f"torch.{b.choice(['add', 'mul', 'sub'])}(*{pair})", graph or other)


def python_ways(b: Builder) -> None:
    """Ways of Python that code with tensors uses now and then."""
    first, graph = b.tensor("M", 1, graph=True)
    second, other = b.tensor("M", 1)
    name = b.fresh("M")
    text = b.choice(
        [
            f"{name} = functools.reduce(lambda p, q: p * q, [{first}, {second}])",
            f"{name} = functools.reduce(torch.add, [{first}, {second}])",
            f"{name} = sum(map(torch.sigmoid, [{first}, {second}]))",
            f"{name} = [part for part in [{first}, {second}] if part.dim() == 2][0]",
            f"{name} = {{k: v for k, v in zip(['p', 'q'], [{first}, {second}])}}['p']",
            f"{name} = list(zip([{first}], [{second}]))[0][0]",
            f"{name} = next(part for part in ({first}, {second}))",
            f"{name} = max([{first}, {second}], key=lambda part: part.dim())",
            f"if ({name} := {first}).dim() == 2:\n    {name} = {name} + {second}",
            f"{name} = same = {first}\nsame = {second}",
            f"{name} = getattr(torch, 'tanh')({first})",
            f"{name} = {first} if isinstance({second}, torch.Tensor) else {second}",
            f"{name} = dict(a={first}, b={second}).get('a')",
            f"assert ({first}).shape == (3, 4)\n{name} = {second}",
            f"{name} = [{first}, {second}][::-1][0]",
            f"{name} = (lambda p, q=2.0: p * q)({first})",
            f"{name}, index_ = max(enumerate([{first}]), key=lambda pair: pair[0])[::-1]",
            f"match ({first}).dim():\n    case 2:\n        {name} = {first}\n    case _:\n        {name} = {second}",
            f"{name} = torch.zeros(3, 4)\nfor row_, part_ in enumerate(({first}).unbind(0)):\n    {name}[row_] = part_",
            f"{name} = torch.zeros(3, 4)\n{name}[:, 0], {name}[:, 1] = ({first})[:, 0], ({second})[:, 1]",
            f"{name} = torch.cat([part_.unsqueeze(0) for part_ in {first}])",
        ]
    )
    if "functools" in text:
        b.imports.add("import functools")
    b.emit(text, "python")
    b.declare(name, "M", graph or other)
