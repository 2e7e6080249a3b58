"""What can be read off a function without running it: strings, patterns, names, keys of its keyword arguments."""

import ast
import dis
import inspect
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from types import CodeType, FunctionType

DEPTH = 3  # functions called by functions; helpers of a reward function seldom lie deeper
LONGEST_FILE = 50_000  # lines of a file that is parsed
LONGEST = 400  # characters of a string that is still taken for a pattern or a marker


@dataclass(frozen=True, slots=True)
class Reading:
    """Strings and names of a function and of the functions of its module that it calls.

    Attributes:
        strings: string constants, module-level strings and patterns that it uses, in order of appearance.
        names: names that it loads: variables, attributes, globals.
    """

    strings: tuple[str, ...]
    names: frozenset[str]

    def mentions(self, *words: str) -> bool:
        """Whether a string or name holds one of the words, whatever the case."""
        return any(word.lower() in text.lower() for word in words for text in (*self.strings, *self.names))


def read(target: object) -> Reading:
    """The reading of a callable; empty where it has no Python code."""
    strings: dict[str, None] = {}
    names: set[str] = set()
    for function in functions(target):
        for text in _strings(function):
            if len(text) <= LONGEST:
                strings[text] = None
        for code in _codes(function.__code__):
            names.update(code.co_names, code.co_varnames, code.co_freevars)
    for given in _given(target):
        strings.update(dict.fromkeys(_texts(given)))
    owner = plain(target)
    if not isinstance(owner, FunctionType):
        for value in list(getattr(owner, "__dict__", {}).values()):
            strings.update(dict.fromkeys(_texts(value)))
    return Reading(strings=tuple(strings), names=frozenset(names))


def defaults(target: object) -> tuple[str, ...]:
    """Names of the parameters that have a default."""
    try:
        parameters = inspect.signature(target).parameters.values() if callable(target) else ()
    except (TypeError, ValueError):
        return ()
    return tuple(one.name for one in parameters if one.default is not one.empty)


def uses_parameter(target: object, name: str) -> bool:
    """Whether the function's body reads that parameter, or the keyword of that name."""
    function = function_of(target)
    if function is None:
        return True
    if name in keyword_reads(target):
        return True
    instructions = (one for code in _codes(function.__code__) for one in dis.get_instructions(code))
    return any(name in _loaded(instruction) for instruction in instructions)


def _loaded(instruction: dis.Instruction) -> tuple[object, ...]:
    """Names that an instruction loads: since Python 3.13 one may load two, or store one and load another."""
    names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
    if "LOAD" not in instruction.opname:
        return ()
    return names[1:] if instruction.opname.startswith("STORE") else names


def keyword_reads(target: object) -> tuple[str, ...]:
    """Keys that the function reads off its `**keywords`: kwargs["answer"], kwargs.get("answer")."""
    return tuple(dict.fromkeys(key for key, _ in keyword_access(target)))


def keyword_access(target: object) -> tuple[tuple[str, bool], ...]:
    """The same with whether the key has to be there: kwargs["answer"] raises where it is absent."""
    node = syntax(target)
    if node is None or node.args.kwarg is None:
        return ()
    name = node.args.kwarg.arg
    found: list[tuple[str, bool]] = []
    for inner in ast.walk(node):
        match inner:
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str(key))) if owner == name:
                found.append((key, True))
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="get" | "pop"),
                args=[ast.Constant(value=str(key)), *_],
            ) if owner == name:
                found.append((key, False))
    return tuple(found)


def syntax(target: object) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function's own syntax tree, with the line numbers of its file; None where there is no source."""
    function = function_of(target)
    if function is None:
        return None
    tree = module_syntax(function)
    if tree is None:
        return None
    wanted = function.__code__.co_firstlineno
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function.__name__:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first == wanted or node.lineno == wanted:
                return node
    return None


def module_syntax(function: FunctionType) -> ast.Module | None:
    """The syntax tree of the function's file, read and never run; None where it cannot be read or is too long."""
    linecache.checkcache(function.__code__.co_filename)  # a notebook or an editor has written it anew
    lines = linecache.getlines(function.__code__.co_filename)
    if not lines or len(lines) > LONGEST_FILE:
        return None
    try:
        return _parsed("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=16)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def plain(target: object) -> object:
    """The callable below partials and decorators."""
    for _ in range(8):
        inner = getattr(target, "__wrapped__", None) or getattr(target, "func", None)
        if inner is None:
            return target
        target = inner
    return target


def function_of(target: object) -> FunctionType | None:
    """The Python function that runs when the callable is called; None where it is none."""
    inner = plain(target)
    if isinstance(inner, FunctionType):
        return inner
    kind = type(inner)  # a torch module's own __call__ is torch's; what it runs is forward
    bound = getattr(inner, "__func__", None) or vars(kind).get("__call__") or getattr(kind, "forward", None)
    return bound if isinstance(bound, FunctionType) else None


def functions(target: object, depth: int = DEPTH) -> Iterator[FunctionType]:
    """The Python function behind a callable and the functions of its module that it calls, each once."""
    first = function_of(target)
    waiting: list[tuple[FunctionType, int]] = [(first, depth)] if first else []
    owner = getattr(plain(target), "__self__", plain(target))
    if not isinstance(owner, FunctionType) and type(owner).__module__ != "builtins":
        methods = [one for one in vars(type(owner)).values() if isinstance(one, FunctionType)]
        waiting += [(one, depth) for one in methods]
    seen: set[int] = set()
    while waiting:
        function, left = waiting.pop(0)
        if id(function) in seen:
            continue
        seen.add(id(function))
        yield function
        if left:
            waiting += [(one, left - 1) for one in _called(function)]


def _given(target: object) -> Iterator[object]:
    """Arguments that partials hold."""
    while isinstance(target, partial):
        yield from (*target.args, *target.keywords.values())
        target = target.func


def _called(function: FunctionType) -> Iterator[FunctionType]:
    for value in _used(function):
        inner = plain(value) if callable(value) else value
        if isinstance(inner, FunctionType) and inner.__module__ == function.__module__:
            yield inner
        elif isinstance(inner, type) and inner.__module__ == function.__module__:
            yield from (one for one in vars(inner).values() if isinstance(one, FunctionType))


def _used(function: FunctionType) -> Iterator[object]:
    """Values of the globals, closure cells and own methods that the function names."""
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    yield from (function.__globals__[name] for name in sorted(names & set(function.__globals__)))
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a cell that was never filled
            continue
    yield from function.__defaults__ or ()


def _strings(function: FunctionType) -> Iterator[str]:
    documents = {function.__doc__}
    for code in _codes(function.__code__):
        for constant in code.co_consts:
            if constant not in documents:
                yield from _texts(constant)
    for value in _used(function):
        yield from _texts(value)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value.pattern
    elif isinstance(value, tuple | list | frozenset | set):
        yield from (one for one in value if isinstance(one, str))
    elif isinstance(value, dict):
        yield from (one for one in value.values() if isinstance(one, str))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
