"""The public interface as text: a line for each public name, with its parameters, their defaults and annotations.

Names and signatures come from the source, as griffe reads it. The classes whose methods are made when they are imported
are read by `inspect`, and so they stay comparable when their methods are written out. Annotations are text everywhere,
and are written as `ast` writes them, so that quotes and line breaks do not matter.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import griffe

import toolkit
from tests import reference
from tests.reference import pages

MADE = {path for _, _, path, _ in pages.METHODS} | {"toolkit.session.AsyncSession", "toolkit.session_methods.AsyncBuilder"}
"""Classes of sessions and their parts, which are read by `inspect`."""
TWINS = ("info", "exchange", "stream", "intents", "parent_orders", "limits", "permissions", "products")
"""Parts of a session that have an awaited twin, whose class has no page."""
SILENT = {
    "__init__", "__new__", "__repr__", "__str__", "__dir__", "__getattr__", "__post_init__", "__reduce__", "__copy__",
    "__deepcopy__", "__getstate__", "__setstate__", "__del__", "__init_subclass__", "__format__", "__set_name__",
}  # fmt: skip
"""Methods that nobody calls by name or by an operator."""
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
    seen: dict[str, str] = {path: path for path in MADE}
    for module in ("toolkit", *(path for _, _, path in pages.MODULES)):
        yield from _exported(module, module, seen)
    for path in MADE:
        kind = reference.resolved(path)
        yield from _inspected(path, kind, kind)
    with toolkit.connect(clock="manual") as session:
        for part in TWINS:
            twin = getattr(session.aio, part)
            yield from _inspected(f"toolkit.AsyncSession.{part}", type(twin), twin)


def _exported(name: str, module: str, seen: dict[str, str]) -> Iterator[str]:
    """Yield the lines of a module's names. What has another public name already is not described again."""
    if module in seen:
        return
    seen[module] = name
    for inner, member in _public(module):
        full = f"{name}.{inner}"
        if seen.get(member.path, full) != full:
            yield f"alias {full}: {seen[member.path]}"
        elif isinstance(member, griffe.Module):
            yield from _exported(full, member.path, seen)
        else:
            seen[member.path] = full
            yield from _described(full, member)


def _public(module: str) -> Iterator[tuple[str, griffe.Object]]:
    """Yield what a module exports, or the functions and classes that it defines where it has no `__all__`."""
    home = reference.package()[module.removeprefix("toolkit.")] if module != "toolkit" else reference.package()
    for name in map(str, home.exports or home.members):
        if name in home.members and (home.exports or (name[0] != "_" and not home.members[name].is_alias)):
            member = home.members[name]
            found = member.final_target if isinstance(member, griffe.Alias) else member
            if home.exports or found.is_function or found.is_class:
                yield name, found
        elif home.exports:
            raise LookupError(f"{module} exports {name}, which its source does not name")


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


def _inspected(name: str, kind: type, holder: object) -> Iterator[str]:
    """Yield the lines of a class and of its public members, as they are when it was imported."""
    yield f"class {name}"
    for inner in filter(_is_shown, dir(holder)):
        found = inspect.getattr_static(kind, inner, None) or getattr(holder, inner)
        if isinstance(found, property):
            yield f"property {name}.{inner}: {_plain(inspect.signature(found.fget).return_annotation)}"
        elif callable(found) and getattr(found, "__module__", "").startswith("toolkit"):
            signature = inspect.signature(found)
            parameters = [_given(each) for each in signature.parameters.values()]
            yield _line("function", f"{name}.{inner}", parameters, _plain(signature.return_annotation))
        elif inner[:2] != "__":
            yield f"attribute {name}.{inner}"


def _is_shown(name: str) -> bool:
    return name[0] != "_" or (name[:2] == "__" and name not in SILENT)


def _is_made(member: griffe.Class) -> bool:
    """Whether the toolkit makes its objects, so that nobody calls the class."""
    kind = reference.resolved(member.path)
    return issubclass(kind, (*reference.MADE, BaseException)) or "Made by" in (kind.__doc__ or "")


def _declared(call: griffe.Function | griffe.Class) -> list[Parameter]:
    return [
        Parameter(
            one.name,
            one.kind.value if one.kind else "",
            _plain(one.annotation),
            None if one.default is None or one.kind in VARIADIC else _plain(one.default),
        )
        for one in call.parameters
    ]


def _given(one: inspect.Parameter) -> Parameter:
    default = None if one.default is one.empty else re.sub(r"<function (\S+).*>", r"\1", repr(one.default))
    return Parameter(one.name, one.kind.description, _plain(one.annotation), default)


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
    return f"{kind} {name}({', '.join(shown)}) -> {returns}"
