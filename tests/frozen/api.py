"""The public interface as text: a line for each public name, with its parameters, their defaults and annotations.

Names and signatures come from the source, as griffe reads it. The classes whose methods are made when they are imported
are read by `inspect`, and so they stay comparable when their methods are written out. Annotations are text everywhere,
and are written as `ast` writes them, so that quotes and line breaks do not matter.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

import griffe

import toolkit
from tests import reference, surface
from tests.reference import pages

INSPECTED = ("Session", "AsyncSession", "Builder", "AsyncBuilder")
"""Classes of the toolkit whose methods are made when they are imported."""
PARTS = [part for part in (*surface.PARTS, *surface.GROUPS) if not part.startswith("venue")]
"""Parts of a session, which users reach by these names, wherever their classes are. A venue's methods are declared."""
KEYWORDS = ("toolkit.connecting.Sending",)
"""Classes whose fields are keywords of a function."""
SILENT = {
    "__init__", "__new__", "__repr__", "__str__", "__dir__", "__getattr__", "__post_init__", "__reduce__", "__copy__",
    "__deepcopy__", "__getstate__", "__setstate__", "__del__", "__init_subclass__", "__format__", "__set_name__",
}  # fmt: skip
"""Methods that nobody calls by name or by an operator."""
BOUND = ("self", "cls")
"""First parameters, which nobody gives."""
HIDDEN = re.compile(r"_|\w+Flows$")
"""Names of a module without `__all__` that are not public. The methods of flows are those of a session."""
VARIADIC = (griffe.ParameterKind.var_positional, griffe.ParameterKind.var_keyword)


class Parameter(NamedTuple):
    """A parameter as both readers give it."""

    name: str
    kind: str
    annotation: str
    default: str | None


def text() -> str:
    """Return the interface, a line for each name, in alphabetical order."""
    return "\n".join(sorted(set(_lines()))) + "\n"


def _lines() -> Iterator[str]:
    seen: dict[str, str] = {}
    with toolkit.connect(clock="manual") as session:
        inspected = {f"toolkit.{name}": getattr(toolkit, name) for name in INSPECTED}
        inspected |= {f"toolkit.Session.{part}": attrgetter(part)(session) for part in PARTS}
        for part in PARTS:
            twin = attrgetter(part)(session.aio)
            if type(twin) is not type(inspected[f"toolkit.Session.{part}"]):
                inspected[f"toolkit.AsyncSession.{part}"] = twin
        for name, holder in inspected.items():
            kind = holder if isinstance(holder, type) else type(holder)
            seen[f"{kind.__module__}.{kind.__qualname__}"] = name
            yield from _inspected(name, kind, holder, inspected.get(name.replace("Async", "")))
    for module in ("toolkit", *(path for _, _, path in pages.MODULES)):
        yield from _exported(module, module, seen)
    for path in (*(path for _, _, path, _ in pages.METHODS), *KEYWORDS):
        if path not in seen:
            yield from _described(path, reference.package()[path.removeprefix("toolkit.")])


def _exported(name: str, module: str, seen: dict[str, str]) -> Iterator[str]:
    """Yield the lines of a module's names. What has another public name already is not described again."""
    if module in seen:
        return
    seen[module] = name
    for inner, member in _public(module):
        full = f"{name}.{inner}"
        if member.path in seen:
            if full.removeprefix("toolkit.") not in INSPECTED:
                yield f"alias {full}: {seen[member.path]}"
        elif isinstance(member, griffe.Module):
            yield from _exported(full, member.path, seen)
        else:
            seen[member.path] = full
            yield from _described(full, member)


def _public(module: str) -> Iterator[tuple[str, griffe.Object]]:
    """Yield what a module exports, or the functions and classes that it defines where it has no `__all__`."""
    home = reference.package()[module.removeprefix("toolkit.")] if module != "toolkit" else reference.package()
    exported = getattr(importlib.import_module(module), "__all__", None)
    for name in exported or home.members:
        member = home.members[name]
        if exported is None and (HIDDEN.match(name) or member.is_alias):
            continue
        found = member.final_target if isinstance(member, griffe.Alias) else member
        if exported is not None or found.is_function or found.is_class:
            yield name, found


def _described(name: str, member: griffe.Object) -> Iterator[str]:
    """Yield the line of a name, and those of a class's public members, as the source has them."""
    if isinstance(member, griffe.Function):
        for each in (member, *(member.overloads or ())):
            kind = "function" if each is member else "overload"
            yield _line(kind, name, _declared(each), _plain(each.returns))
    elif isinstance(member, griffe.Class):
        bases = f"({', '.join(map(_plain, member.bases))})"
        yield _line("class", name, [] if _is_made(member) else _declared(member), bases)
        for inner, each in member.all_members.items():
            if _is_shown(inner):
                found = each.final_target if isinstance(each, griffe.Alias) else each
                yield from _described(f"{name}.{inner}", found)
    elif isinstance(member, griffe.Attribute) and not name.endswith("__slots__"):
        kind = "property" if "property" in member.labels else "attribute"
        yield f"{kind} {name}: {_plain(member.annotation)}"


def _inspected(name: str, kind: type, holder: object, sync: object) -> Iterator[str]:
    """Yield the lines of a class and of its public members, as they are when it was imported.

    The parameters of an awaited method are left out where they are those of its twin, `sync`.
    """
    yield f"class {name}"
    for inner in filter(_is_shown, dir(holder)):
        found = inspect.getattr_static(kind, inner, None) or getattr(holder, inner)
        if isinstance(found, property):
            yield f"property {name}.{inner}: {_plain(inspect.signature(found.fget).return_annotation)}"
        elif callable(found) and getattr(found, "__module__", "").startswith("toolkit"):
            parameters, returns = _called(found)
            twin = getattr(sync, inner, None) if sync is not holder else None
            if twin is not None and _called(twin)[0] == parameters:
                yield f"function {name}.{inner}(...) -> {returns}"
            else:
                yield _line("function", f"{name}.{inner}", parameters, returns)
        elif inner[:2] != "__":
            yield f"attribute {name}.{inner}"


def _called(call: Callable[..., object]) -> tuple[list[Parameter], str]:
    """Return the parameters of a function or method, and what it returns."""
    signature = inspect.signature(call)
    given = [
        Parameter(one.name, one.kind.description, _plain(one.annotation), _shown_default(one.default))
        for one in signature.parameters.values()
    ]
    return given[given[:1] != [] and given[0].name in BOUND :], _plain(signature.return_annotation)


def _shown_default(value: object) -> str | None:
    return None if value is inspect.Parameter.empty else re.sub(r"<function (\S+).*>", r"\1", repr(value))


def _is_shown(name: str) -> bool:
    return name[0] != "_" or (name[:2] == "__" and name not in SILENT)


def _is_made(member: griffe.Class) -> bool:
    """Whether the toolkit makes its objects, so that nobody calls the class."""
    made = {f"{kind.__module__}.{kind.__qualname__}" for kind in reference.MADE}
    said = member.docstring is not None and "Made by" in member.docstring.value
    return said or member.module.path == "toolkit.errors" or any(base.path in made for base in member.mro())


def _declared(call: griffe.Function | griffe.Class) -> list[Parameter]:
    return [
        Parameter(
            one.name,
            one.kind.value if one.kind else "",
            _plain(one.annotation),
            None if one.default is None or one.kind in VARIADIC else _plain(one.default),
        )
        for number, one in enumerate(call.parameters)
        if number or one.name not in BOUND
    ]


def _plain(value: object) -> str:
    """Return an annotation or a default as `ast` writes it, "?" where there is none."""
    if value is None or value is inspect.Parameter.empty:
        return "?"
    text = value.__name__ if isinstance(value, type) else str(value)
    try:
        return ast.unparse(ast.parse(text, mode="eval"))
    except SyntaxError:
        return text


def _line(kind: str, name: str, parameters: Iterable[Parameter], returns: str) -> str:
    shown, before = [], ""
    for one in parameters:
        stars = "**" * (one.kind == "variadic keyword") or "*" * (one.kind == "variadic positional")
        if one.kind == "keyword-only" and before not in ("keyword-only", "variadic positional"):
            shown.append("*")
        if before == "positional-only" != one.kind:
            shown.append("/")
        before = one.kind
        shown.append(f"{stars}{one.name}: {one.annotation}{'' if one.default is None else f' = {one.default}'}")
    if before == "positional-only":
        shown.append("/")
    return f"{kind} {name}({', '.join(shown)}) -> {returns}"
