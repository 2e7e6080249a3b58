"""The Python reference, from the signatures and docstrings of what `rlprobe` exports."""

import inspect
import re
from collections.abc import Iterator

import rlprobe

_SECTIONS = ("Args", "Returns", "Raises", "Attributes", "Yields", "Source")
_ENTRY = re.compile(r"^    (\S.*?): (.*)$")
_MODULES = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")  # of a type's name


def page() -> str:
    """Every public name: how it is called, what it gives, what it raises."""
    parts = [
        "# Python",
        "Made from the code: `import rlprobe` gives these names, and imports no numpy before one is used.",
    ]
    for name in rlprobe.__all__:
        if not name.startswith("_"):
            parts += list(_public(name, getattr(rlprobe, name)))
    return "\n\n".join(parts) + "\n"


def _public(name: str, thing: object) -> Iterator[str]:
    yield f"## {name}"
    yield _signature(name, thing)
    yield _prose(inspect.getdoc(thing) or "")
    if inspect.isclass(thing):
        for member, value in vars(thing).items():
            if not member.startswith("_") and callable(inspect.unwrap(_plain(value))):
                yield f"### {name}.{member}"
                yield _signature(member, _plain(value))
                yield _prose(inspect.getdoc(_plain(value)) or "")


def _plain(member: object) -> object:
    """The function behind a property, a static method or a class method."""
    if isinstance(member, property):
        return member.fget
    return member.__func__ if isinstance(member, staticmethod | classmethod) else member


def _signature(name: str, thing: object) -> str:
    try:
        told = inspect.signature(thing)  # type: ignore[arg-type]  # what is no callable raises, and is told by its name
    except (TypeError, ValueError):
        return f"```python\n{name}\n```"
    parameters = [_plain_default(each) for each in told.parameters.values() if each.name != "self"]
    one_line = _MODULES.sub("", f"{name}{told.replace(parameters=parameters)}")
    if len(one_line) <= 88:
        return f"```python\n{one_line}\n```"
    lines = [f"    {_MODULES.sub('', each)}," for each in _starred(parameters)]
    returned = one_line.rpartition(")")[2]
    return "```python\n" + "\n".join([f"{name}(", *lines, f"){returned}"]) + "\n```"


def _plain_default(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter, with an ellipsis for a default that is no plain value."""
    default = parameter.default
    plain = default is parameter.empty or isinstance(default, str | int | float | tuple | type(None))
    return parameter if plain else parameter.replace(default=...)


def _starred(parameters: list[inspect.Parameter]) -> Iterator[str]:
    keyword_only = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        yield str(each)


def _prose(doc: str) -> str:
    """Google's sections as bold heads with lists; indented code stays code."""
    out: list[str] = []
    section = ""
    for line in doc.splitlines():
        if line.rstrip(":") in _SECTIONS and line.endswith(":"):
            section = line.rstrip(":")
            out += ["", f"**{section}**", ""]
        elif section and (found := _ENTRY.match(line)):
            out.append(f"- `{found[1]}`: {found[2]}")
        elif section and line.startswith("    "):
            out.append(f"  {line.strip()}" if out and out[-1].startswith(("- ", "  ")) else line.strip())
        else:
            out.append(line)
    return "\n".join(out).strip()
