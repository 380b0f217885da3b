"""Reading and writing attributes and items of any value."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache

from gradsense.machine import library, strides
from gradsense.machine.devices import ChosenDevice
from gradsense.machine.events import (
    GradientNone,
    GradOfNonLeaf,
    GradOfNonLeafUsed,
    RequiresGradOfNonLeaf,
    SavedRead,
    ScalarIndexed,
    UselessMutation,
)
from gradsense.machine.graph import Cut, Storage, Tensor, Write
from gradsense.machine.limits import MOST_HELD, SIZE
from gradsense.machine.place import Place
from gradsense.machine.shapes import index_shape, is_whole
from gradsense.machine.state import MODULE_MEMBERS, NoneGradient, State
from gradsense.machine.tri import MAYBE, NO, YES, tri
from gradsense.machine.values import (
    SCALARS,
    UNKNOWN_KEY,
    BoundMethod,
    ClassValue,
    DictValue,
    Distribution,
    External,
    Function,
    GradFn,
    Instance,
    LibraryMethod,
    ListValue,
    NamedTuple,
    Optimizer,
    ProgramModule,
    SuperProxy,
    Unknown,
    Value,
    a_number,
    parts_of,
)

TENSOR_FACTS = frozenset(
    "ndim device dtype is_cuda layout is_sparse itemsize nbytes name names is_quantized is_meta is_mps".split()
)
# A dictionary is followed up to so many items.
MOST_ITEMS = 200


# Attributes `_saved_x` of a grad_fn that hold tensors; sizes, dims and numbers are kept after a walk.
SAVED_TENSORS = frozenset(
    """self result other input weight mat1 mat2 target index indices mask condition output tensor1 tensor2 exponent vec
    batch1 batch2 tensors result0 result1 result2 query key value mean rstd running_mean running_var end
    grad_output""".split()
)


GRADIENTS = frozenset(("grad", "_grad"))


@lru_cache(maxsize=256)
def is_meant_for_requires_grad(name: str) -> bool:
    """Whether an attribute that somebody sets on a tensor looks like `requires_grad`, and is not that."""
    if not name.startswith("r") or name == "requires_grad":
        return False
    if "requires_grad" in name and name != "requires_grad_":
        # Not a longer name, such as `requires_grad_before`.
        rest = name.removeprefix("requires_grad")
        if rest == name or not rest.isalpha():
            return False
    return bool(get_close_matches(name, ("requires_grad",), cutoff=0.8))


class Access(State):
    """Attributes and items."""

    # ------------------------------------------------------------------ attributes

    def get_attribute(self, value: Value, name: str) -> Value:
        """`value.name`."""
        if isinstance(value, Instance):
            return self._instance_attribute(value, name)
        if isinstance(value, External):
            return value.last if name in ("__name__", "__qualname__") else value.member(name)
        if isinstance(value, Tensor):
            return self._tensor_attribute(value, name)
        if isinstance(value, Unknown):
            return self._unknown_attribute(value, name)
        if isinstance(value, ClassValue):
            return self._class_attribute(value, name)
        if isinstance(value, SuperProxy):
            return self._super_attribute(value, name)
        if isinstance(value, ProgramModule):
            return self._module_attribute(value, name)
        if isinstance(value, GradFn):
            if name == "next_functions":
                return tuple((GradFn(p), 0) for p in value.node.parents)
            if name.removeprefix("_saved_") in SAVED_TENSORS or (name == "saved_tensors" and value.node.op == "custom"):
                return self.read_saved(value)
            return LibraryMethod(value, name)
        if isinstance(value, NamedTuple) and name in value.fields:
            return value[value.fields.index(name)]
        if isinstance(value, Optimizer) and name == "param_groups":
            group = DictValue({"params": ListValue([*value.parameters, *value.unknowns]), "lr": a_number()})
            return ListValue([group])
        if isinstance(value, Distribution):
            return library.distributions.attribute(self.machine, value, name)
        if isinstance(value, Function):
            if name in value.attributes:
                return value.attributes[name]
            return value.name if name in ("__name__", "__qualname__") else Unknown(name=name)
        if isinstance(value, BoundMethod) and name == "__self__":
            return value.receiver
        if isinstance(value, BoundMethod) and name == "__func__":
            return value.function
        if value is None:
            self.use_of_none()
            return Unknown(name=name)
        if isinstance(value, ChosenDevice) and name == "type":
            return value.kind()
        if isinstance(value, str) and name == "type":
            return value.partition(":")[0]  # of a device: no text has it
        return LibraryMethod(value, name)

    def _tensor_attribute(self, tensor: Tensor, name: str) -> Value:
        if name == "data":
            return self.detached(tensor, "data")
        if name == "grad":
            return self.read_gradient(tensor)
        if name == "requires_grad":
            needs = self.needs_grad(tensor)
            return a_number() if needs is MAYBE else needs is YES
        if name == "is_leaf":
            self.needs_grad(tensor)
            return tensor.leaf
        if name == "grad_fn":
            node = self.graph_of(tensor)
            if node is not None and not tensor.leaf:
                return GradFn(node)
            return None if tensor.needs is NO else Unknown(name="grad_fn")
        if name == "shape":
            if tensor.shape is None:
                return a_number()
            return tuple(a_number() if d is None else d for d in tensor.shape)
        if name in ("T", "mT", "H", "mH"):
            shape = tensor.shape
            swapped = (*shape[:-2], shape[-1], shape[-2]) if shape is not None and len(shape) >= 2 else shape
            layout = strides.of(tensor)
            if layout is not None and len(layout) >= 2:
                layout = (*layout[:-2], layout[-1], layout[-2])
            return self.view(tensor, name, swapped, contiguous=False, layout=layout)
        if name in ("real", "imag"):
            return self.view(tensor, name, tensor.shape)
        if name == "ndim" and tensor.shape is not None:
            return len(tensor.shape)
        if name == "dtype" and tensor.dtype is not None:
            return External(f"torch.{tensor.dtype}")
        if name in TENSOR_FACTS:
            return a_number()
        return LibraryMethod(tensor, name)

    def read_gradient(self, tensor: Tensor) -> Value:
        """`tensor.grad`."""
        self.trail.note("grad", id(self.node))
        needs = self.needs_grad(tensor)
        if tensor.origin == "unknown" or tensor.phantom:
            if tensor.phantom and tensor.contributions:
                self.use_gradient(tensor, "read")
            return tensor.gradient if tensor.gradient is not None else Unknown(name="grad")
        if not tensor.leaf and not tensor.retains_grad:
            if needs is YES:
                self.none_gradient = NoneGradient(
                    tensor, self.here(), self.order, tensor.node is not None and tensor.node.sure
                )
                spot = self._non_leaf_made(tensor)
                self.report(GradOfNonLeaf(place=self.here(), tensor=tensor, read=self.here(), spot=spot))
                return None
            return Unknown(name="grad")
        if tensor.gradient is not None:
            if tensor.contributions:
                self.use_gradient(tensor, "read")
                self._mark_constant(tensor)
            return tensor.gradient
        if tensor.leaf and needs is NO:
            sure = not tensor.parameter and bool(tensor.cuts or tensor.stores)
            self.none_gradient = NoneGradient(tensor, self.here(), self.order, sure)
            return None
        # Nothing was walked into it on this path; another path or a caller may have.
        unseen = self.is_unit or self.assumed or self.unseen_walks or self.handed_on or self.escaped
        if unseen or tensor.has_gradient or needs is not YES:
            return Unknown(name="grad")
        self.none_gradient = NoneGradient(tensor, self.here(), self.order, True, unfilled=True)
        return None

    def _mark_constant(self, tensor: Tensor) -> None:
        """What a walk without `create_graph` put into `.grad` is a constant for whatever is computed from it."""
        gradient, walk = tensor.gradient, tensor.contributions[-1].walk
        if gradient is None or gradient.cuts or walk.create_graph or gradient.needs is not NO:
            return
        cut = Cut("grad", walk.place)
        gradient.cuts = (cut,)
        self.grad_walks[id(cut)] = walk

    def _non_leaf_made(self, tensor: Tensor) -> Place:
        node = tensor.node
        return node.place if node is not None else tensor.made

    def use_of_none(self) -> None:
        """The program computes with None: an error of ours if it came from a `.grad`.

        Raises:
            PathEnds: if that surely raises.
        """
        noted = self.none_gradient
        if noted is None or self.order - noted.order > 400:
            return
        tensor = noted.tensor
        if noted.unfilled:
            if self._is_of_gradient(noted):
                zeroed = tensor.spent[-1].zeroed if tensor.spent else None
                self.report(GradientNone(place=self.here(), tensor=tensor, read=noted.read, zeroed=zeroed))
            return
        if tensor.leaf and not tensor.cuts:
            return
        spot = noted.read if tensor.leaf else self._non_leaf_made(tensor)
        if tensor.leaf:
            spot = tensor.stores[-1].place if tensor.stores else noted.read
        event = GradOfNonLeafUsed(
            place=self.here(), sure=noted.sure, tensor=tensor, read=noted.read, used=self.here(), spot=spot
        )
        event.also = [(s.place, "stored here") for s in tensor.stores[-4:]] + [(noted.read, "read here")]
        if tensor.cuts:
            event.also += [(c.place, f"cut by {c.how}") for c in tensor.cuts]
        self.report(event)

    def _is_of_gradient(self, noted: NoneGradient) -> bool:
        """Whether what is being run computes with the `.grad` that was read as None, or with a variable that got it."""
        return any(
            (isinstance(part, ast.Attribute) and part.attr in GRADIENTS)
            or (isinstance(part, ast.Name) and (id(self.frame), part.id) in noted.names)
            for part in ast.walk(self.node)
        )

    def read_saved(self, function: GradFn) -> Value:
        """`grad_fn._saved_x`: raises once a walk freed it.

        Raises:
            PathEnds: if that surely raises.
        """
        node = function.node
        if node.walked is not None:
            self.trail.note("saved", node.index)
            node.walked.needed = True
        if node.freed is not None and node.raises_when_walked_twice:
            event = SavedRead(place=self.here(), sure=node.sure, node=node, freed=node.freed)
            event.also = [(p, "called here") for p in self.stack]
            self.report(event)
        return Unknown(name="saved tensor", data=True)

    def _instance_attribute(self, value: Instance, name: str) -> Value:
        if name in value.attributes:
            if library.parametrizations.OPTION in value.options:
                return library.parametrizations.computed(self.machine, value, name)
            return value.attributes[name]
        if name == "training" and value.is_module:
            return a_number() if value.training is None else value.training
        cls = value.cls
        if cls is not None and cls.has(name):
            found = cls.find(name)
            return self.bind(found, value, cls)
        if name in value.child_names:
            return value.child_names[name]
        if name == "__class__":
            return cls or External(f"torch.nn.{value.kind}")
        if name == "__dict__":
            return DictValue.named(value.attributes)
        if isinstance(value.children, DictValue) and name in value.children.items:
            return value.children.items[name]
        if cls is not None and cls.has("__getattr__"):
            getter = cls.find("__getattr__")
            if isinstance(getter, Function) and not value.is_module:
                return self.call(getter, [value, name], {}, None)
        if value.is_module and name in ("_parameters", "_modules"):
            # Who reaches for these puts other tensors in their place.
            self.trail.note(name, id(self.node))
            for _, tensor in library.module_methods.tensors(value, buffers=True):
                tensor.origin = "unknown"
        distribution = library.distributions.within(value)
        if distribution is not None:
            return library.distributions.attribute(self.machine, distribution, name)
        return LibraryMethod(value, name)

    def bind(self, found: Value, receiver: Value, cls: ClassValue) -> Value:
        """A class attribute as seen through an instance."""
        if not isinstance(found, Function):
            return found
        if found.kind == "property":
            return self.call(found, [receiver], {}, None)
        if found.kind == "cached_property":
            return self._cached(found, receiver)
        if found.kind == "staticmethod":
            return found
        if found.kind == "classmethod":
            return BoundMethod(found, cls)
        return BoundMethod(found, receiver)

    def _cached(self, getter: Function, receiver: Value) -> Value:
        """A `cached_property`: its first value stays as an attribute of the object."""
        value = self.call(getter, [receiver], {}, None)
        if isinstance(receiver, Instance) and isinstance(getter.node, ast.FunctionDef):
            self.trail.note_attribute(getter.name, value)
            receiver.attributes[getter.name] = value
            returned = next((s for s in getter.node.body if isinstance(s, ast.Return)), getter.node)
            receiver.stores[getter.name] = self.note_store(value, "attribute", getter.name, returned, None, receiver)
        return value

    def _class_attribute(self, cls: ClassValue, name: str) -> Value:
        if cls.has(name):
            found = cls.find(name)
            if isinstance(found, Function) and found.kind == "classmethod":
                return BoundMethod(found, cls)
            return found
        if name in ("__name__", "__qualname__"):
            return cls.name
        if name == "__members__":
            return DictValue()
        return LibraryMethod(cls, name)

    def _super_attribute(self, proxy: SuperProxy, name: str) -> Value:
        receiver = proxy.receiver
        cls = receiver.cls if isinstance(receiver, Instance) else receiver if isinstance(receiver, ClassValue) else None
        order = cls.linear() if cls is not None else []
        if proxy.after in order:
            order = order[order.index(proxy.after) + 1 :]
        elif proxy.after is not None:
            order = proxy.after.linear()[1:]
        for base in order:
            if name in base.namespace:
                found = base.namespace[name]
                if isinstance(found, Function):
                    return self.bind(found, receiver, base)
                return found
        if isinstance(receiver, Instance) and (distribution := library.distributions.within(receiver)) is not None:
            return library.distributions.attribute(self.machine, distribution, name)
        return LibraryMethod(proxy, name)

    def _module_attribute(self, module: ProgramModule, name: str) -> Value:
        frame = module.frame
        self.names_read.add(name)
        if name in frame.variables:
            return frame.variables[name]
        if name in frame.imported:
            return self.load_name(frame, name)
        if frame.lookup is not None:
            found, value = frame.lookup(name)
            if found:
                return value
        return self.workspace_attribute(module, name)

    def workspace_attribute(self, module: ProgramModule, name: str) -> Value:
        """A name that a file of the workspace does not define itself: a file beside it, or unknown."""
        return Unknown(name=name)

    def _unknown_attribute(self, value: Unknown, name: str) -> Value:
        if name in value.attributes:
            return value.attributes[name]
        if name in MODULE_MEMBERS:
            # It is a network, then.
            self.trail.note(name, id(self.node))
        result = Unknown(data=value.data and not value.number, name=name, sources=value.sources, owner=value)
        result.configuration, result.parameter = value.configuration, value.parameter
        if name in ("shape", "device", "dtype", "ndim"):
            result.number = True
            result.data = True
        elif name == "data":
            result.data, result.sources = True, ()
        value.attributes[name] = result
        return result

    def set_attribute(self, value: Value, name: str, new: Value, target: ast.AST, value_node: ast.expr | None) -> None:
        """`value.name = new`."""
        before = value.attributes.get(name, 0) if isinstance(value, Instance) else None
        self.trail.note_attribute(name, new, before)
        if isinstance(value, Instance):
            if value.cls is not None and value.cls.has(name):
                found = value.cls.find(name)
                setter = found.attributes.get("setter") if isinstance(found, Function) else None
                if isinstance(setter, Function):
                    self.call(setter, [value, new], {}, None)
                    return
            if value.is_module:
                if self._set_child(value, name, new, target):
                    return
                if name == "requires_grad" and isinstance(new, bool) and not self._is_own(value, name):
                    what = "a module has no `requires_grad`, its parameters have"
                    instead = f"{self._receiver_name(target)}.requires_grad_({new})"
                    self.report(UselessMutation(place=self.here(target), what=what, instead=instead))
                self._note_member(value, name, value.attributes.get(name), new, target)
            value.attributes[name] = new
            shown = f"{self._receiver_name(target)}.{name}"
            self.attributes_set += 1
            value.stores[name] = self.note_store(new, "attribute", shown, target, value_node, value)
        elif isinstance(value, Tensor):
            self._set_tensor_attribute(value, name, new)
        elif isinstance(value, Unknown):
            value.attributes[name] = new
            self.escape(new)
        elif isinstance(value, ClassValue):
            value.namespace[name] = new
            self.note_store(new, "attribute", f"{value.name}.{name}", target, value_node, value)
        elif isinstance(value, Function):
            value.attributes[name] = new
        elif isinstance(value, ProgramModule):
            value.frame.variables[name] = new
            value.frame.stores[name] = self.note_store(new, "name", name, target, value_node, None)

    def _is_own(self, value: Instance, name: str) -> bool:
        """Whether an attribute that is set is one that the object's class knows, as far as the program says."""
        known = name in value.attributes or (value.cls is not None and value.cls.has(name))
        return known or self.frame.receiver is value

    def _set_child(self, owner: Instance, name: str, new: Value, target: ast.AST) -> bool:
        """`setattr(sequential, "0", layer)`: whether a container of layers has a layer of that name, now another."""
        held = owner.children
        if isinstance(held, DictValue) and name in held.items:
            before, held.items[name] = held.items[name], new
        elif isinstance(held, ListValue) and name in owner.child_names:
            before = owner.child_names[name]
            held.items = [new if item is before else item for item in held.items]
            owner.child_names[name] = new
        elif isinstance(held, ListValue) and name.isdigit() and int(name) < len(held.items):
            before, held.items[int(name)] = held.items[int(name)], new
        else:
            return False
        self._note_member(owner, name, before, new, target)
        return True

    def _note_member(self, owner: Instance, name: str, before: Value, new: Value, target: ast.AST) -> None:
        """Notes what an optimizer will not know of: what is in plain containers, and what came after it."""
        if isinstance(new, Tensor) and new.parameter:
            self.note_late(owner, new, target)
        elif isinstance(new, Tensor) and new.leaf and new.needs is YES and new.base is None:
            self.plain_leaves.append((owner, name, self.here(target)))
        elif isinstance(new, (ListValue, tuple, DictValue)):
            # An empty one may be filled later; one that is only made longer is there already.
            parts = parts_of(new)
            if before is new:
                return
            if not parts or any(
                isinstance(p, (Instance, Tensor)) and (p.parameter if isinstance(p, Tensor) else p.is_module)
                for p in parts
            ):
                self.plainly_held.append((owner, name, self.here(target)))
        elif isinstance(new, Instance) and new.is_module and self.optimizers:
            self.note_successor(before, new, target, "replaced")

    def note_successor(self, before: Value, new: Instance, target: ast.AST, how: str) -> None:
        """Notes a module that takes the place of one that an optimizer has."""
        if not isinstance(before, Instance) or before is new:
            return
        old = {t for _, t in library.module_methods.tensors(before)}
        frozen = bool(old) and all(t.needs is NO for t in old)
        for optimizer in self.optimizers:
            if old & set(optimizer.parameters) or (frozen and how == "replaced" and optimizer is self.optimizers[-1]):
                self.replaced.append((new, optimizer, self.here(target), how))

    def note_late(self, owner: Instance, parameter: Tensor, target: ast.AST | None) -> None:
        """Notes a parameter that a finished module gets when an optimizer has been made."""
        if self.optimizers and not any(
            frame.receiver is owner and frame.function is not None and frame.function.name == "__init__"
            for frame in self.frames
        ):
            self.late.append((parameter, self.here(target)))

    @staticmethod
    def _receiver_name(target: ast.AST) -> str:
        if isinstance(target, ast.Attribute):
            try:
                return ast.unparse(target.value)
            except (ValueError, RecursionError):
                return "self"
        return "self"

    def _set_tensor_attribute(self, tensor: Tensor, name: str, new: Value) -> None:
        if name in GRADIENTS:
            if new is None:
                self.zero_gradients([tensor])
            else:
                if new is not tensor.gradient:
                    self.use_gradient(tensor, "read")
                    tensor.spent += tensor.contributions
                    tensor.contributions = []
                tensor.has_gradient = True
                tensor.gradient = new if isinstance(new, Tensor) else None
        elif name == "requires_grad":
            needed = self.truth(new) if not isinstance(new, Unknown) else None
            self.set_requires_grad(tensor, needed, assigned=True)
        elif is_meant_for_requires_grad(name):
            instead = f"{self._receiver_name(self.node)}.requires_grad"
            what = f"`{name}` is a method, to be called" if name == "requires_grad_" else f"a tensor has no `{name}`"
            self.report(UselessMutation(place=self.here(), what=what, instead=instead))
        elif name == "data":
            tensor.storage = new.storage if isinstance(new, Tensor) else Storage()
        else:
            # Nobody follows what is hung on a tensor: it may come back and be walked.
            self.escape(new)

    def set_requires_grad(self, tensor: Tensor, needed: bool | None, *, assigned: bool = False) -> None:
        """`requires_grad_(needed)`, which torch allows on leaves only.

        Args:
            assigned: the attribute is set: of a computed tensor torch refuses even what it has already.

        Raises:
            PathEnds: if it surely refuses.
        """
        needs = self.needs_grad(tensor)
        if not tensor.leaf:
            if tensor.origin == "known" and (needed is False or (assigned and needed is True)):
                event = RequiresGradOfNonLeaf(place=self.here(), tensor=tensor, sure=needs is YES, wanted=needed)
                event.also = [(s.place, "stored here") for s in tensor.stores[-3:]]
                self.report(event)
            return
        if needed is True:
            self.check_inference(tensor, "tracked")
        if needed is True and tensor.needs is NO and tensor.cuts:
            tensor.promoted = self.here()
            self.raised.append(tensor)
        if needed is True and tensor.needs is NO and tensor.parameter and self.optimizers:
            self.thawed.append((tensor, self.here()))
        tensor.needs = tri(needed)
        tensor.frozen = self.here() if needed is False and tensor.parameter else None
        if needed is False:
            tensor.accumulator = None

    # ------------------------------------------------------------------ items

    def basic_index(self, index: Value) -> bool | None:
        """Whether indexing a tensor by this makes a view; None if unknown."""
        if isinstance(index, tuple):
            known: bool | None = True
            for part in index:
                basic = self.basic_index(part)
                if basic is False:
                    return False
                if basic is None:
                    known = None
            return known
        if isinstance(index, bool):
            return False
        if isinstance(index, (int, slice, type(None), type(...))):
            return True
        if isinstance(index, Unknown):
            return True if index.number else None
        if isinstance(index, (Tensor, ListValue)):
            # A 0-dim integer tensor indexes like a number.
            return (
                isinstance(index, Tensor)
                and index.shape == ()
                and index.dtype is not None
                and index.dtype.startswith("int")
            )
        return None

    def get_item(self, value: Value, index: Value) -> Value:
        """`value[index]`."""
        if isinstance(value, Tensor):
            return self._tensor_item(value, index)
        if isinstance(value, ListValue):
            return self._list_item(value, index)
        if isinstance(value, tuple):
            return self._tuple_item(value, index)
        if isinstance(value, DictValue):
            return self._dict_item(value, index)
        if isinstance(value, str):
            if isinstance(index, (int, slice)):
                try:
                    return value[index]
                except (IndexError, TypeError, ValueError):
                    return a_number()
            return a_number()
        if isinstance(value, Instance):
            return self._instance_item(value, index)
        if isinstance(value, range):
            if isinstance(index, (int, slice)):
                try:
                    return value[index]
                except (IndexError, TypeError, ValueError):
                    return a_number()
            return a_number()
        if isinstance(value, Unknown):
            if isinstance(index, (int, str)):
                return self.part_of(value, index)
            part = Unknown(number=value.number, data=value.data, sources=value.sources)
            part.configuration = value.configuration
            return part
        if isinstance(value, (ClassValue, External)):
            return value
        if value is None:
            self.use_of_none()
        return Unknown()

    def _tensor_item(self, tensor: Tensor, index: Value) -> Value:
        if tensor.shape == () and isinstance(index, int) and not isinstance(index, bool) and index == 0:
            has_graph = self.needs_grad(tensor) is not NO
            self.report(ScalarIndexed(place=self.here(), tensor=tensor, has_graph=has_graph))
            return tensor if has_graph else a_number()
        basic = self.basic_index(index)
        if basic is not False:
            return self._view_at(tensor, index, "select", basic)
        shape = None
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) == 1 and isinstance(parts[0], Tensor) and tensor.shape is not None and parts[0].dtype != "bool":
            first = parts[0].shape
            shape = (*first, *tensor.shape[1:]) if first is not None and tensor.shape else None
        return library.ops.indexed(self.machine, tensor, index, shape)

    def _view_at(self, tensor: Tensor, index: Value, op: str, basic: bool | None) -> Tensor:
        """The view that basic indexing makes."""
        if not basic:
            return self.view(tensor, op)
        first = index[0] if isinstance(index, tuple) and index else index
        ahead = isinstance(first, slice) and first.start is None and first.stop is None
        shape, layout = index_shape(tensor.shape, index), strides.indexed(tensor, index)
        # `x[:, a:b]` has gaps, whatever the sizes are.
        gaps = ahead and isinstance(index, tuple) and len(index) > 1
        return self.view(tensor, op, shape, contiguous=False if gaps else None, layout=layout)

    def _list_item(self, value: ListValue, index: Value) -> Value:
        if isinstance(index, bool):
            index = int(index)
        if isinstance(index, int):
            try:
                return value.items[index]
            except IndexError:
                return value.items[0] if value.homogeneous and value.items else Unknown()
        if isinstance(index, slice):
            copy = ListValue(value.items, self.here(), value.kind)
            copy.open, copy.homogeneous = value.open, value.homogeneous
            self.spend(len(value.items))
            parts = (index.start, index.stop, index.step)
            if index.step != 0 and all(part is None or isinstance(part, int) for part in parts):
                copy.items = value.items[index]
            return copy
        return value.items[-1] if value.items else Unknown()

    def _tuple_item(self, value: tuple[Value, ...], index: Value) -> Value:
        if isinstance(index, (int, slice)):
            try:
                return value[index]
            except (IndexError, TypeError, ValueError):
                return Unknown()
        return value[-1] if value else Unknown()

    def _dict_item(self, value: DictValue, index: Value) -> Value:
        key = self.dict_key(index)
        if key in value.items:
            return value.items[key]
        unknown = [k for k in value.items if k is UNKNOWN_KEY or isinstance(k, Unknown)]
        if unknown:
            return value.items[unknown[-1]]
        if value.default is not None:
            made = self.call(value.default, [], {}, None)
            self.trail.note_items("default", id(self.node), [made])
            value.items[key] = made
            return made
        if (key is UNKNOWN_KEY or isinstance(key, Unknown)) and value.items:
            return list(value.items.values())[-1]
        return Unknown()

    def _instance_item(self, value: Instance, index: Value) -> Value:
        children = value.children
        if isinstance(children, ListValue):
            if isinstance(index, int) and -len(children.items) <= index < len(children.items):
                return children.items[index]
            if isinstance(index, slice):
                part = Instance(value.kind, None, value.made)
                part.is_module = True
                sliced = self._list_item(children, index)
                part.children = sliced if isinstance(sliced, ListValue) else children
                return part
            return children.items[-1] if children.items else Unknown()
        if isinstance(children, DictValue):
            return self._dict_item(children, index)
        if value.cls is not None and value.cls.has("__getitem__"):
            return self.call(value.cls.find("__getitem__"), [value, index], {}, None)
        if value.kind == "TensorDataset":
            stored = value.options.get("tensors")
            if isinstance(stored, tuple):
                return tuple(self.get_item(t, index) for t in stored)
        return Unknown(data=value.kind in ("DataLoader", "Dataset"))

    def part_of(self, value: Unknown, index: Value) -> Value:
        """A part of an unknown."""
        site = (value.site, index) if value.site is not None else None
        part = Unknown(number=value.number, data=value.data, site=site, sources=value.sources)
        part.configuration, part.parameter = value.configuration, value.parameter
        part.arguments = value.arguments
        if site is not None and self.knowledge.facts.get(site):
            return self.result_of_unknown_call(site, value.sources)
        return part

    def dict_key(self, key: Value) -> Value:
        """A value as a dictionary key: itself where it is known and hashable by value or identity."""
        if isinstance(key, SCALARS):
            return key
        if isinstance(key, tuple) and all(isinstance(part, (str, int)) for part in key):
            return key
        if isinstance(key, (Tensor, Instance, ClassValue, External, Function)):
            return key.name if isinstance(key, External) else key
        # An unknown key is itself: another unknown may be another key.
        return key if isinstance(key, Unknown) else UNKNOWN_KEY

    def set_item(self, value: Value, index: Value, new: Value, value_node: ast.expr | None = None) -> None:
        """`value[index] = new`."""
        before = value.items.get(self.dict_key(index), 0) if isinstance(value, DictValue) else 0
        self.trail.note_items("item", id(self.node), [new], before)
        if isinstance(value, Tensor):
            self._set_tensor_item(value, index, new)
        elif isinstance(value, ListValue):
            self._set_list_item(value, index, new)
            self.note_items(value, [new], value_node)
        elif isinstance(value, DictValue):
            key = self.dict_key(index)
            value.items.pop(key, None)
            value.items[key] = new
            while len(value.items) > MOST_ITEMS:
                del value.items[next(iter(value.items))]
            self.note_items(value, [new], value_node)
        elif isinstance(value, Instance):
            children = value.children
            if isinstance(children, DictValue):
                children.items[self.dict_key(index)] = new
            elif isinstance(children, ListValue):
                if isinstance(index, int) and -len(children.items) <= index < len(children.items):
                    self._note_member(value, str(index), children.items[index], new, self.node)
                    children.items[index] = new
            elif value.cls is not None and value.cls.has("__setitem__"):
                self.call(value.cls.find("__setitem__"), [value, index, new], {}, None)
        elif isinstance(value, Unknown):
            if value.alias is not None:
                self.mark_alias_write(value.alias)
            self.escape(new)

    def mark_alias_write(self, tensor: Tensor) -> None:
        """A write through a numpy array that shares the tensor's memory: torch does not count it."""
        self.trail.note("alias", id(self.node))
        tensor.storage.silent.append(Write(self.here(), self.tick(), "data", "numpy", self.module, self.epoch, True))

    def _set_tensor_item(self, tensor: Tensor, index: Value, new: Value) -> None:
        """A slice is a view and a copy into it; anything else is `index_put_`."""
        basic = self.basic_index(index)
        operands = [new] if isinstance(new, Tensor) or (isinstance(new, Unknown) and not new.number) else []
        if basic is not False:
            if is_whole(index, tensor.shape) or tensor.view_kind in ("multi", "hook"):
                library.in_place.write(self.machine, tensor, "copy", operands)
            else:
                library.in_place.write(self.machine, self._view_at(tensor, index, "slice", basic), "copy", operands)
            return
        library.in_place.write(self.machine, tensor, "index_put", operands)

    def extend(self, container: ListValue, added: Sequence[Value]) -> None:
        """Puts items at the end of a list, as far as they are followed."""
        self.spend(len(added))
        if len(container.items) + len(added) > MOST_HELD:
            container.open = True
            self.left_out.add(SIZE)
            return
        container.items.extend(added)

    def _set_list_item(self, value: ListValue, index: Value, new: Value) -> None:
        if isinstance(index, int) and -len(value.items) <= index < len(value.items):
            value.items[index] = new
        elif isinstance(index, slice):
            if isinstance(new, (ListValue, tuple)):
                parts = new.items if isinstance(new, ListValue) else list(new)
                if (
                    all(part is None or isinstance(part, int) for part in (index.start, index.stop))
                    and index.step is None
                    and len(value.items) + len(parts) <= MOST_HELD
                ):
                    value.items[index] = parts
                else:
                    self.extend(value, parts)
        elif value.items:
            value.items[-1] = new
        else:
            value.items.append(new)
