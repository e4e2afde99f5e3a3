"""Parses PTX text to a ``Module``: module-level directives and function signatures; ``body.py`` parses bodies."""

from __future__ import annotations

from dataclasses import replace

from . import unsupported
from .body import Body
from .cursor import Cursor, variables
from .module import Function, Module
from .text import Source
from .types import Reg, Variable

_SPACES = (".global", ".const", ".shared", ".tex")
_LINKAGE = (".visible", ".extern", ".weak", ".common")
_LIMITS = tuple(
    ".maxntid .reqntid .minnctapersm .maxnctapersm .maxnreg .reqnctapercluster .maxclusterrank".split()  # noqa: SIM905
)
_ABI = (".abi_preserve", ".abi_preserve_control")
_FLAGS = (".explicitcluster", ".noreturn", ".blocksareclusters")


def read_module(text: str) -> Module:
    """Parses the text and resolves its names; opcodes are not checked yet."""
    cursor = Cursor(Source(text))
    module = Module(cursor.source)
    while cursor.token.kind != "end":
        _item(cursor, module)
    return module


def _item(cursor: Cursor, module: Module) -> None:
    word = cursor.take().text
    if word == ".version":
        module.version = cursor.kind("number").text
    elif word == ".target":
        module.target = cursor.kind("id").text
        while cursor.accept(","):
            cursor.kind("id")
    elif word == ".address_size":
        if cursor.integer() != 64:
            raise cursor.source.syntax(cursor.tokens[cursor.at - 1].line, "expected .address_size 64")
    elif word == ".pragma":
        cursor.kind("string")
        cursor.expect(";")
    elif word == ".section":
        cursor.kind("id")
        cursor.skip_braces()
    elif word == ".alias":
        cursor.skip_statement()
    elif word in _LINKAGE:
        _linked(cursor, module, word == ".extern")
    elif word in (".entry", ".func", *_SPACES):
        cursor.at -= 1
        _linked(cursor, module, False)
    elif word != ";":
        raise cursor.source.syntax(cursor.tokens[cursor.at - 1].line, f"expected a module directive, got {word!r}")


def _linked(cursor: Cursor, module: Module, external: bool) -> None:
    word = cursor.take().text
    if word in (".entry", ".func"):
        _function(cursor, module, word == ".entry")
    elif word in _SPACES:
        found = variables(cursor, "global" if word == ".tex" else word[1:])
        if word == ".tex":  # the old syntax for a texture
            found = [replace(v, lacks="textures") for v in found]
        if external and word != ".shared":
            found = [replace(v, lacks=v.lacks or unsupported.ELSEWHERE) for v in found]
        module.variables += found
        cursor.expect(";")
    else:
        raise cursor.fail(f"expected .entry, .func or a variable after a linkage directive, got {word!r}")


def _function(cursor: Cursor, module: Module, entry: bool) -> None:
    function = Function("", entry, cursor.token.line)
    if cursor.token.text == "(":
        function.returns = _formals(cursor, function)
    function.name = cursor.kind("id").text
    if cursor.token.text == "(":
        function.params = _formals(cursor, function)
    _directives(cursor, function)
    known = module.functions.get(function.name)
    if cursor.token.text == "{":
        if known is not None and known.defined:
            raise cursor.fail(f"expected one definition of {function.name!r}, got two")
        function.defined = True
        module.functions[function.name] = function
        Body(cursor, module, function).read()
    else:
        cursor.expect(";")
        module.functions.setdefault(function.name, function)


def _formals(cursor: Cursor, function: Function) -> list[Variable | Reg]:
    """The parameters in parentheses; those of a ``.func`` live on the caller's stack or in registers."""
    out: list[Variable | Reg] = []
    cursor.expect("(")
    while not cursor.accept(")"):
        word = cursor.kind("id").text
        if word == ".param":
            out += variables(cursor, "param" if function.entry else "stack")
        elif word == ".reg":
            reg = Reg(len(function.registers), cursor.type_(), cursor.kind("id").text)
            function.registers.append(reg)
            out.append(reg)
        else:
            raise cursor.fail(f"expected .param or .reg, got {word!r}")
        if cursor.token.text != ")":
            cursor.expect(",")
    return out


def _directives(cursor: Cursor, function: Function) -> None:
    while cursor.token.kind == "id":
        word = cursor.take().text
        if word in _LIMITS or word in _ABI:
            function.limits[word[1:]] = cursor.integers()
        elif word == ".pragma":
            cursor.kind("string")
            cursor.expect(";")
        elif word in _FLAGS:
            function.limits[word[1:]] = ()
        else:
            raise cursor.fail(f"expected a performance directive, got {word!r}")
