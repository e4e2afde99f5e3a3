"""The one exception tree and the one catalogue of diagnostic codes.

Every mistake a user can make ends in ``error("WFnnn", ...)``: the text says what was expected, what came and what to
do. Codes are grouped: WF1 arrays and arguments, WF2 tracing and monoids, WF3 IR and passes, WF4 plans and targets,
WF5 files (artifacts, cache, inputs, outputs), WF6 CUDA, WF7 emulator (WF74 and WF75 the benchmark), WF8 command line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


class WarpfoldError(Exception):
    """Base of all errors warpfold raises on purpose.

    Attributes:
        code: the diagnostic code, ``WF101`` and so on.
        location: where in the user's code or file it happened, or None.
    """

    def __init__(self, code: str, message: str, remedy: str, location: Location | None) -> None:
        self.code = code
        self.message = message
        self.remedy = remedy
        self.location = location
        super().__init__(self.render())

    def __reduce__(self) -> tuple[type[WarpfoldError], tuple[object, ...]]:
        """Rebuilds the error from its parts, so that it survives pickling on its way out of a worker process."""
        return type(self), (self.code, self.message, self.remedy, self.location)

    def render(self) -> str:
        """The message as users see it: code and text, then the location, then what to do."""
        lines = [f"{self.code}: {self.message}"]
        if self.location is not None:
            lines.append(f"  at {self.location}")
        if self.remedy:
            lines.append(f"  help: {self.remedy}")
        return "\n".join(lines)


class WarpfoldWarning(UserWarning):
    """Something that works but will surprise; its text looks like that of an error."""


class ArgumentError(WarpfoldError, ValueError):
    """A value that the call cannot take."""


class DTypeError(WarpfoldError, TypeError):
    """A type that the call cannot take."""


class TraceError(WarpfoldError, TypeError):
    """A combine, lift or finish function that cannot be traced into a graph."""


class CompileError(WarpfoldError, RuntimeError):
    """IR that does not verify, or a pass that failed."""


class PlanError(WarpfoldError, ValueError):
    """A plan that does not fit the reduction or the target."""


class FileError(WarpfoldError, OSError):
    """A file that cannot be read, written or trusted."""

    def __init__(self, code: str, message: str, remedy: str, location: Location | None) -> None:
        WarpfoldError.__init__(self, code, message, remedy, location)

    def __str__(self) -> str:
        return self.render()


class BackendError(WarpfoldError, RuntimeError):
    """A device, driver or tool that is missing or that refused."""


class EmulatorError(WarpfoldError, RuntimeError):
    """PTX that the emulator does not run, or that did something illegal while running."""


@dataclass(frozen=True)
class Location:
    """A line of the user's source: ``file`` and 1-based ``line``, with the line's ``text`` when it is known."""

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f": {self.text.strip()}" if self.text else "")


@dataclass(frozen=True)
class Diagnostic:
    """One row of the catalogue: ``text`` and ``remedy`` are ``str.format`` templates over the facts of a case."""

    kind: type[WarpfoldError]
    text: str
    remedy: str


CATALOGUE: dict[str, Diagnostic] = {}


def _rows(kind: type[WarpfoldError], rows: dict[str, tuple[str, str]]) -> None:
    for code, (text, remedy) in rows.items():
        CATALOGUE[code] = Diagnostic(kind, text, remedy)


# --- WF1: arrays and arguments -----------------------------------------------------------------------------------
_rows(
    ArgumentError,
    {
        "WF101": (
            "axis {axis} is out of range for an array of rank {rank}: expected {low} to {high}",
            "count axes from 0, or from -1 backwards",
        ),
        "WF102": ("axis {axis} is repeated in {axes}", "name every axis once"),
        "WF104": (
            "{name} of no elements has no value: axes {axes} of shape {shape} are empty and {name} has no identity",
            "reduce a non-empty axis, or test the size first",
        ),
    },
)
_rows(
    DTypeError,
    {
        "WF103": ("axis must be an int, a tuple of ints or None, got {axis}", "pass axis=1 or axis=(0, 2)"),
        "WF105": (
            "no rule for elements of type {dtype}: expected one of {known}",
            "give one of these types; convert an array that has another",
        ),
    },
)

# --- WF12: calls -------------------------------------------------------------------------------------------------
_rows(
    ArgumentError,
    {
        "WF120": ("no reduction is called {name!r}{near}: expected one of {known}", "or pass a monoid or a function"),
        "WF121": ("device cannot be {device!r}: expected auto, cuda or emulator", "leave it out for auto"),
        "WF122": (
            "the array lies on {found}, which the {backend} backend cannot reach",
            "copy it to the host first, or run with device='cuda'",
        ),
        "WF123": (
            "this artifact of {name} was compiled for {expected}: the array needs {found}",
            "compile it for arrays of this kind, or let warpfold choose: wf.reduce",
        ),
        "WF125": ("out holds {found} array(s): the reduction has {expected} result(s)", "pass one array per result"),
        "WF126": (
            "the inputs do not broadcast to one shape: {shapes}",
            "sizes along an axis must be equal, or 1",
        ),
        "WF127": ("{name} takes no parameter {parameter!r}: it takes {known}", "leave it out or correct it"),
        "WF128": (
            "parameter {parameter!r} of {name} is a {kind}: expected a number, a string or a tuple of them",
            "parameters are baked into the kernel; pass arrays as inputs",
        ),
        "WF129": ("a shape has whole sizes of at least 0, got {shape}", "write (4096, 1024), or pass x.shape"),
        "WF130": ("cannot reduce with a {kind}: expected a monoid, a function or a name", "see wf.monoid"),
        "WF124": (
            "{name} takes {expected} input array(s), got {found}",
            "pass one array per input; a combine function becomes a reduction by wf.monoid(identity=...)",
        ),
        "WF131": ("plan is text, got a {kind}", "write plan='key=value,key=value'"),
        "WF132": ("out {position} shares memory with out {other}", "pass an array of its own for each result"),
    },
)

# --- WF10, WF11: arrays of other libraries, and out= ---------------------------------------------------------------
_rows(
    ArgumentError,
    {
        "WF106": (
            "{what} of {bytes} bytes is no multiple of the {itemsize} bytes that an element of type {dtype} takes",
            "copy the array first, so that its elements are aligned: numpy.array(x)",
        ),
        "WF107": ("the inputs lie on different devices: {devices}", "move them to one device first"),
        "WF108": ("out has shape {found}: expected {expected}", "pass an array of that shape, or leave out= away"),
        "WF110": (
            "elements of out share memory: its strides are {strides} elements for shape {shape}",
            "pass an array whose elements lie apart: results would overwrite each other",
        ),
        "WF111": ("out shares memory with input {position}", "pass an array of its own: results would overwrite input"),
        "WF112": ("out lies on {found}: the inputs lie on {expected}", "move out to the device of the inputs"),
        "WF113": ("out cannot be written: it is {reason}", "pass a writable array, or leave out= away"),
    },
)
_rows(
    DTypeError,
    {
        "WF109": ("out has elements of type {found}: expected {expected}", "pass dtype=, or an out of that type"),
        "WF114": ("a {kind} cannot be read as a dense array: {reason}", "{remedy}"),
        "WF115": ("{library} has no element type {dtype} for the result", "ask for another type with dtype="),
    },
)

# --- WF2: tracing and monoids ------------------------------------------------------------------------------------
_rows(
    TraceError,
    {
        "WF201": (
            "the function branches on a symbolic value (if, and, or, not, or a chained comparison)",
            "both ways must be computed: write wf.where(condition, a, b), and & | ~ for and, or, not",
        ),
        "WF202": (
            "a symbolic scalar cannot be unpacked or iterated",
            "the function sees one element at a time, and wf.fold goes through all; a state of several values comes as "
            "a tuple where the monoid has one identity per value",
        ),
        "WF203": (
            "a symbolic value cannot become a Python {conversion}",
            "use wf.cast(x, dtype), and warpfold's functions (wf.exp, wf.sqrt, ...) in place of those of math or numpy",
        ),
        "WF204": (
            "the constant {value} does not fit {dtype}: expected a whole number from {lowest} to {highest}",
            "cast the other operand to a wider type first: wf.cast(x, 'i64')",
        ),
        "WF205": (
            "the function uses a value of type {kind}: expected a symbolic value or a Python number",
            "compute with numbers and with values of the elements; pass arrays as further inputs of the reduction",
        ),
        "WF206": ("operator {op} is not defined for {dtype}", "cast the operands first: wf.cast(x, dtype)"),
        "WF207": (
            "combine function {name} takes {count} required arguments: expected 2, the left and the right state",
            "write def {name}(a, b); states of several values are tuples",
        ),
        "WF208": (
            "combine function {name} returns {found} value(s): expected {expected}, one per value of the state",
            "return as many values as the state has",
        ),
        "WF209": (
            "combine function {name} returns {found} as value {position}: expected {expected}, the type of the state",
            "cast it: wf.cast(value, '{expected}')",
        ),
        "WF210": (
            "the identity of {name} has {found} value(s), and what is folded with it {expected}: expected as many, one "
            "per value of the state",
            "give one identity per value, and a lift that returns as many",
        ),
        "WF211": (
            "{name} is folded over values that are reduced already",
            "fold values that depend on the elements of an input",
        ),
        "WF213": (
            "{name} folds with {outer} what depends on the result of folding with {inner}",
            "a program reads its elements once: find a monoid that does both, as Welford's does for a variance",
        ),
        "WF214": (
            "the exponent {exponent} of a power of {dtype} is negative: expected 0 or more for integers",
            "cast the base to a float: wf.cast(x, 'f64') ** n",
        ),
        "WF215": (
            "bitcast from {source} of {found} bits to {target} of {expected}: expected types of one width",
            "convert the value instead: wf.cast(x, dtype)",
        ),
        "WF217": ("numpy.{name} is no function of symbolic values", "use an operator, or wf.{name} if there is one"),
        "WF218": (
            "combine function {name} uses {what}: expected the values of its two states alone",
            "lift elements before the fold, and finish the state after it",
        ),
        "WF216": ("fast must be a bool, got {found}", "pass fast=True for the GPU's approximation"),
        "WF212": (
            "result {position} of {name} was never reduced",
            "return values made with wf.fold(monoid, ...), or elementwise functions of them",
        ),
    },
)

# --- WF13, WF22: calls and programs, continued --------------------------------------------------------------------
_rows(
    ArgumentError,
    {
        "WF133": ("{name} has no identity: where= may leave a result without elements", "{remedy}"),
        "WF134": ("{name} of no elements has no value: all elements of a result are NaN", "test for that first"),
        "WF135": ("the input of {name} holds NaN", "leave nan='raise' away, or reduce with nan='ignore'"),
        "WF136": ("initial={initial} does not fit {name}: expected {expected}", "give a value that the state can hold"),
        "WF137": ("{name} has no compensated form", "give accumulate= a wider type, such as 'f64'"),
        "WF138": ("{option} cannot be {value!r}: expected {expected}", "leave it out for {default}"),
        "WF139": (
            "where= has elements of type {dtype} and shape {shape}: expected bool, broadcastable to {expected}",
            "pass a bool array, such as x > 0",
        ),
        "WF141": (
            "offsets have shape {shape}: expected one dim of at least 1 entry",
            "pass the start of every segment and the end of the last",
        ),
        "WF142": (
            "offsets[{position}] is {value}, which is no place on an axis of {size} elements",
            "keep offsets from 0 to {size}",
        ),
        "WF143": (
            "offsets do not rise: offsets[{position}] is {value}, the next is {following}",
            "sort them; segment k is x[offsets[k]:offsets[k + 1]]",
        ),
        "WF144": (
            "{name} of no elements has no value: segment {position} is empty and {name} has no identity",
            "leave empty segments out, or give an initial value",
        ),
        "WF145": ("segments lie along one axis, got axis={axis}", "name it: axis=0"),
        "WF146": (
            "segments are reduced element by element in one CTA each: {key}={value} does not fit",
            "leave {key} out of the plan",
        ),
        "WF148": (
            "parameter {parameter!r} of {name} is {value!r}: expected a {expected}, as its default {default!r} is",
            "convert it first",
        ),
        "WF152": (
            "elements of type {dtype} cannot be added up in {accumulate}",
            "give a float type for floats, a complex one for complex numbers",
        ),
        "WF150": (
            "dot takes two arrays of rank 1 and of one size, got shapes {shapes}",
            "give both as many elements; for arrays of other ranks use vecdot, which reduces an axis",
        ),
        "WF151": ("{name} needs the parameter {parameter!r}", "give it by keyword: {parameter}=value"),
    },
)
_rows(
    DTypeError,
    {
        "WF140": ("offsets have elements of type {dtype}: expected integers", "convert them: offsets.astype('int64')"),
        "WF149": ("unique of {dtype} is not supported: expected 8- or 16-bit integers or bool", "{remedy}"),
    },
)
_rows(
    TraceError,
    {
        "WF219": ("check_monoid looks at a monoid, got a {kind}", "pass what @wf.monoid made"),
        "WF220": ("{name} reduces {expected} array(s): {found} type(s) given", "give the type of each array"),
        "WF221": (
            "{name} claims what it does not keep:{laws}",
            "results may depend on the order of the elements; see wf.check_monoid, or correct the claim",
        ),
        "WF222": (
            "{name} is no monoid, and only a monoid has laws",
            "write FILE.py:NAME of a wf.monoid, such as the one that it folds with",
        ),
        "WF227": (
            "the identity of {name} holds a {kind}: expected numbers of the state's types",
            "give one number per value of the state",
        ),
        "WF228": ("combine function {name} returns nothing: expected the combined state", "end it with a return"),
        "WF224": (
            "{name} names a result {key}: expected a word of letters, digits and _ that is no keyword",
            "rename it",
        ),
        "WF226": (
            "the finish of {name} takes {found} value(s): expected {expected}, one per value of the state",
            "write one parameter per value of the state",
        ),
        "WF225": ("{dtype} has no order", "reduce its parts or its absolute value: x.real, x.imag, abs(x)"),
    },
)

# --- WF3: IR and passes ------------------------------------------------------------------------------------------
_rows(
    CompileError,
    {
        "WF301": (
            "no MLIR bindings with the NVPTX backend were found (looked for 'mlir' and 'numba_cuda_mlir')",
            "python -m pip install 'numba-cuda-mlir>=0.5.2,<0.7'",
        ),
    },
)

_rows(
    CompileError,
    {
        "WF310": ("{op} expects {expected}, got {found}", "see the op's description in compiler/dialect"),
        "WF311": ("{op} expects the attribute {attribute} to be {expected}", "see the op in compiler/dialect"),
        "WF312": ("{op} expects a combine region with arguments {expected}, got {found}", "two states: left, right"),
        "WF313": ("{op} expects a region that yields {expected}, got {found}", "end the region with fold.yield"),
        "WF314": ("{op} expects dims that rise and lie in 0 to {rank} - 1, got {dims}", "name every reduced dim once"),
        "WF320": (
            "distribute expects a function with {expected}, got {found}",
            "write the program through wf.fold, or give the function the attributes that docs/design.md lists",
        ),
        "WF321": ("{stage} has no rule for {op} on {dtype}", "rewrite the function with operations that have one"),
        "WF330": (
            "pass {name} left {count} {op} behind",
            "report it with the output of: warpfold compile OP --emit program",
        ),
        "WF331": ("pass {name} failed: {reason}", "the IR before it is in {path}; reproduce with: {command}"),
        "WF332": ("{name} is in the PTX but nothing links it", "report it: a math function lacks its expansion"),
    },
)

# --- WF4: plans and targets --------------------------------------------------------------------------------------
_rows(
    PlanError,
    {
        "WF401": ("no target is called {arch!r}{near}: expected one of {known}", "name one of these"),
        "WF402": ("a plan has no field {key!r}{near}: expected one of {known}", "write key=value,key=value"),
        "WF403": ("plan field {key} cannot be {value}: expected {expected}", "change or leave out the field"),
        "WF404": ("the plan needs {threads} threads a CTA: {arch} holds {limit}", "lower warps or warps_kept"),
        "WF405": (
            "the plan needs {needed} bytes of shared memory a CTA: {arch} gives {limit}",
            "lower warps, warps_kept or vector",
        ),
        "WF406": (
            "a blocked walk reads single elements along the reduced axis, the plan has vector={vector}",
            "set vector=1, or walk=interleaved",
        ),
        "WF407": (
            "vector={vector} along the {axis} axis does not fit this layout: it needs {wanted}",
            "lower vector{other}",
        ),
        "WF408": (
            "finish=atomic is not exact for {name}: {why}",
            "{remedy}",
        ),
        "WF409": ("{name} is not commutative: walk={walk} would reorder its elements", "use walk=blocked"),
        "WF410": (
            "no plan is called {name!r}{near}: expected one of {known}",
            "write a name, key=value,key=value, or a name and then what differs",
        ),
        "WF411": (
            "cta=shuffle exchanges registers, the plan has exchange=global",
            "set exchange=shared, or another cta: serial, interleaved, sequential, warp_sync or unrolled",
        ),
        "WF412": (
            "coarsening={coarsening} says when more CTAs share a result, the plan has finish=cta: one CTA a result",
            "set coarsening=0, or another finish: last_block, two_kernels or atomic",
        ),
        "WF413": (
            "a CTA takes whole unrolled steps: coarsening={coarsening} is less than unroll={unroll}",
            "lower unroll, or raise coarsening",
        ),
        "WF414": (
            "the plan has cluster={cluster}: {arch} has no clusters of CTAs",
            "set cluster=1, or compile for sm_90a or newer",
        ),
        "WF415": (
            "walk={walk} gives the threads of a CTA their places itself: the plan has other extents",
            "set {change}, or walk=interleaved",
        ),
        "WF416": (
            "walk={walk} does not fit this layout: it needs {wanted}",
            "use walk=interleaved, or raise {more}",
        ),
        "WF417": (
            "tile_bytes={tile_bytes} holds all elements of a CTA's results, which no other warp or CTA shares",
            "set fast=reduced, walk=interleaved, warps=1, cluster=1, cta=shuffle and finish=cta, or tile_bytes=0",
        ),
        "WF418": (
            "tile_bytes={tile_bytes} hold no result's elements: they lie too far apart, or not in one run of memory",
            "set tile_bytes={remedy}",
        ),
        "WF419": (
            "{item!r} is no key=value: only the first of a plan's options may be a name",
            "write a name, key=value,key=value, or a name and then what differs",
        ),
        "WF420": ("plan field {key} is given twice: {first!r} and {second!r}", "give it once"),
        "WF421": (
            "vector={vector} elements of {item} bytes are {bytes} bytes: an access takes at most {widest}",
            "lower vector",
        ),
    },
)

# --- WF5: files --------------------------------------------------------------------------------------------------
_rows(
    FileError,
    {
        "WF501": ("cannot read {path}: {reason}", "check the path and its permissions"),
        "WF502": ("{path} is not a warpfold artifact of a known format", "save it again with artifact.save(path)"),
        "WF503": ("{path} is cut short or was altered: its checksum does not match", "save the artifact again"),
        "WF505": ("cannot write {path}: {reason}", "give a path in a folder that exists and may be written"),
        "WF506": ("cannot read {path}: {reason}", "check the path and its permissions"),
        "WF507": ("{path} is cut short or damaged: {reason}", "write it again with numpy.save"),
        "WF508": (
            "{path} holds pickled objects, which can run code when loaded: expected plain numbers",
            "load it where you trust it, and save it again as an array of numbers",
        ),
        "WF509": ("{path} is not a .npy file: {reason}", "write one array with numpy.save"),
    },
)

# --- WF59, WF89: warpfold-opt ------------------------------------------------------------------------------------
_rows(
    FileError,
    {
        "WF591": ("cannot read {path}: {reason}", "give the path of an MLIR text file, or - for standard input"),
        "WF592": ("cannot write {path}: {reason}", "give -o a path in a folder that exists and may be written"),
    },
)
_rows(
    ArgumentError,
    {
        "WF891": ("no pass is called {name!r}{near}", "warpfold-opt --list-passes names warpfold's own passes"),
        "WF892": ("the pass pipeline does not parse: {reason}", "write builtin.module(pass,gpu.module(pass),...)"),
        "WF893": (
            "{name} runs on builtin.module and cannot be nested in {anchor}",
            "move {name} out of {anchor}(...)",
        ),
        "WF894": ("{name} takes no options, got {options}", "write {name} alone: the IR carries what it reads"),
    },
)

# --- WF80, WF81: warpfold's command line -------------------------------------------------------------------------
_rows(
    ArgumentError,
    {
        "WF801": (
            "no reduction is called {name!r}{near}: expected one of {known}",
            "for a monoid or function of your own write file.py:name; run, profile and sanitize take FILE.ptx, too; "
            "unique and segment_reduce are there in Python alone",
        ),
        "WF802": ("{text!r} is not a shape", "write whole sizes with x between them: --shape 4096x1024"),
        "WF803": ("{text!r} names no axes", "write one axis or several: --axis 1, --axis 0,2, --axis -1"),
        "WF806": (
            "{path} has no monoid or function called {name!r}{near}: it has {known}",
            "write file.py:name with one of these names",
        ),
        "WF818": (
            "{path} alone says not what to reduce with: it has {known}",
            "write {path}:name with one of these names",
        ),
        "WF819": (
            "{name} takes {expected} input array(s), got {found} --input file(s)",
            "give --input {expected} time(s), with a file each",
        ),
        "WF807": (
            "{name} of {path} is a {kind}: expected a wf.monoid or a function that uses wf.fold",
            "name one of those",
        ),
        "WF808": (
            "--dtype {text} names {found} types: expected one for all, or {count}",
            "write one type an input: --dtype f32,i64",
        ),
        "WF809": (
            "{path} has shape {found}: expected {expected}, the shape of {first}",
            "all inputs of a reduction have one shape",
        ),
        "WF811": (
            "arrays of shape {shape} take {needed}: this machine has {memory}",
            "choose a smaller --shape",
        ),
        "WF812": ("an artifact is a file and needs a path", "add -o name.warpfold"),
        "WF813": ("{form} has no JSON form", "use --json with --emit plan"),
        "WF815": ("{text!r} is no parameter", "write --param name=value: --param correction=1"),
        "WF817": ("parameter {key} is given twice: {first} and {second}", "give it once"),
        "WF814": ("--input and {option} cannot be given together", "the file says its shape and type"),
        "WF816": ("an array of shape {shape} has no elements, and so no order to combine them in", "give it elements"),
        "WF832": ("the ladder has no rung called {name!r}{near}: it has {known}", "name one of these, or none for all"),
        "WF820": (
            "the launch does not parse: expected {expected}, got {got}{place}",
            "write kernel<<<grid, block>>>(arguments), such as sum<<<132, 256>>>(f32[1048576], out:f32[1]=0, 1048576)",
        ),
        "WF821": ("{problem}: {path} has {known}{place}", "name one of these before the <<<"),
        "WF822": (
            "argument {index} of kernel {kernel!r} does not fit parameter {name!r}: "
            "expected {expected}, got {got}{place}",
            "arrays go to pointers of 8 bytes, numbers to parameters of their size, hex:00ff to all else",
        ),
        "WF823": (
            "kernel {kernel!r} takes {expected} argument(s), got {got}{place}",
            "give one argument a parameter: {signature}",
        ),
        "WF824": (
            "{problem}{place}",
            "an array is made where it is first named, x:f32[1024], and is x from then on",
        ),
        "WF825": ("the array cannot be made: {problem}{place}", "write type[shape]=value, such as f32[4096x1024]=0"),
        "WF827": ("{problem}", "{remedy}"),
        "WF828": (
            "--output {text!r} names no array of the launches: expected NAME=FILE, NAME one of {known}",
            "name the array where it is made, x:f32[1024], and write --output x=FILE",
        ),
    },
)
_rows(
    FileError,
    {
        "WF826": ("{path} is not PTX: {reason}", "give the path of a text that begins with .version"),
        "WF829": (
            "{path} has no kernel to launch",
            "give a program with an .entry: nvcc makes one of a __global__ function",
        ),
    },
)
_rows(
    ArgumentError,
    {
        "WF835": ("a search cannot last {seconds} seconds", "give a time above 0: seconds=30"),
        "WF836": ("an array of shape {shape} leaves nothing to reduce, and so nothing to time", "give it elements"),
        "WF837": ("--forget gives up all finds, and {op} names one reduction", "write warpfold tune --forget alone"),
    },
)
_rows(
    BackendError,
    {
        "WF834": (
            "plans are timed on a GPU, and there is none",
            "run this where the calls will run; warpfold doctor says what a machine lacks",
        ),
    },
)
_rows(
    FileError,
    {
        "WF830": (
            "{path} is no picture: its name must end in one of {known}",
            "write a name such as --plot picture.svg",
        ),
        "WF831": ("matplotlib, which draws the picture, was not found: {reason}", "python -m pip install matplotlib"),
    },
)
_rows(FileError, {"WF804": ("cannot read {path}: {reason}", "check the path; OP is a name or file.py:name")})
_rows(
    TraceError,
    {
        "WF805": ("{path} does not import: {reason}{trail}", "make it run as a script first: python {path}"),
        "WF810": (
            "the function of {path} fails while it is traced: {reason}{trail}",
            "it runs on symbolic values: use operators and warpfold's functions on them",
        ),
    },
)

# --- WF6: CUDA ---------------------------------------------------------------------------------------------------
_rows(
    BackendError,
    {
        "WF601": ("{call} failed with {name}: {text}{sticky}", "{remedy}"),
        "WF602": (
            "the device has compute capability {capability}: expected {oldest} or newer",
            "run on the emulator: device='emulator'",
        ),
        "WF603": (
            "out of memory on {device}: {call} asked for {bytes} bytes",
            "free arrays, or other libraries' memory pools, first",
        ),
        "WF604": (
            "no CUDA driver was found: {reason}",
            "install the NVIDIA driver, or run on the emulator: device='emulator'",
        ),
        "WF605": (
            "there is no CUDA device {number}: {found} found",
            "check CUDA_VISIBLE_DEVICES and nvidia-smi, or run on the emulator: device='emulator'",
        ),
        "WF606": (
            "ptxas was not found in WARPFOLD_PTXAS, in the nvidia-cuda-nvcc package or on PATH{reason}",
            "python -m pip install nvidia-cuda-nvcc",
        ),
        "WF607": ("ptxas refuses the PTX for {arch}: {message}", "{remedy}"),
        "WF608": (
            "no disassembler was found: neither nvdisasm nor cuobjdump is installed or on PATH",
            "python -m pip install nvidia-cuda-nvdisasm",
        ),
        "WF609": ("the driver cannot load {artifact}: {name}: {log}", "{remedy}"),
        "WF610": ("{tool} failed: {message}", "check that the cubin is whole and the tool as new as its architecture"),
    },
)

# --- WF7: the emulator -------------------------------------------------------------------------------------------
_rows(
    EmulatorError,
    {
        "WF701": ("PTX line {line}: '{text}': {problem}", "the emulator reads PTX as the assembler does; see the ISA"),
        "WF702": (
            "PTX line {line}: '{text}': unknown instruction {opcode!r}: "
            "expected one of the supported opcodes {supported}",
            "add it to its family's TABLE in runtime/emulator, or compile the kernel without it",
        ),
        "WF703": ("PTX line {line}: '{text}': {problem}", "use a form the PTX ISA lists for this instruction"),
        "WF704": ("PTX line {line}: '{text}': no {kind} is called {name!r}", "declare it before its use"),
        "WF705": ("no kernel is called {entry!r}: expected one of {known}", "name an .entry of the module"),
        "WF706": ("kernel {kernel!r} takes {expected} arguments, got {got}", "pass one value per .param"),
        "WF707": (
            "argument {index} of kernel {kernel!r}, {name!r}: expected .{type} of {size} bytes, got {got}",
            "pass an int for integers and pointers, a float for floats, bytes for anything else",
        ),
        "WF708": ("kernel {kernel!r} cannot be launched: {problem}", "change the launch shape"),
        "WF709": (
            "kernel {kernel!r} cannot be launched: expected at most {most} bytes of shared memory, "
            "got {static} static and {dynamic} dynamic",
            "use less shared memory",
        ),
        "WF710": ("out of bounds: {what}; {place}", "check the index against the array's size before the access"),
        "WF711": ("misaligned: {what}, expected a multiple of {size}; {place}", "peel the unaligned head, or use .v1"),
        "WF712": ("write to read-only memory: {what}; {place}", "write to an output, not to an input"),
        "WF713": ("null pointer: {what}; {place}", "check that every pointer argument was passed"),
        "WF714": (
            "deadlock: {arrived} of {expected} threads are at {barrier} and nothing else can run{absent}; {place}",
            "let every thread of the CTA reach the barrier, or name the number that does",
        ),
        "WF715": (
            "lanes {absent} of the membermask never come to this warp-wide instruction; {place}",
            "name in the mask only lanes that execute it, or move it out of the branch",
        ),
        "WF716": (
            "no end after {budget} steps; {active} thread(s) run at {place}",
            "look for a loop that never ends, or raise max_steps (--max-steps of profile and sanitize)",
        ),
        "WF717": ("trap; {place}", "the kernel stopped itself: an assertion in it failed"),
        "WF718": ("emulator memory: {problem}", "pass what allocate or bind returned"),
        "WF719": ("branch index {index} is not below {count}, the size of its table; {place}", "check the index first"),
        "WF720": ("lane {lane} runs a warp-wide instruction whose membermask {mask} lacks it; {place}", "add the lane"),
        "WF722": ("undefined: {problem}; {place}", "the ISA gives this no meaning: keep to what it expects"),
        "WF730": (
            "deadlock: {threads} wait for ever, and nobody who can still run changes what they read, {read}; "
            "{others}; {place}",
            "let the thread that writes it get there: look at the address, at the value waited for, and at who waits",
        ),
        "WF731": (
            "deadlock: {threads} wait for ever, and nobody who can still run changes what they read, {read}; "
            "{others}, and {later} of {ctas} CTAs have not begun: {resident} run at a time; {place}",
            "launch no more CTAs than run at a time, or let no CTA wait for one that may come later",
        ),
        "WF732": (
            "no end: {threads} run round for ever, and nothing they do is seen by anybody; {others}; {place}",
            "let the loop's condition depend on something that changes",
        ),
        "WF733": ("{seed!r} is no seed", "give a whole number from 0 on, or None for the plain schedule"),
    },
)

# --- WF745, WF75: what is measured of a device ---------------------------------------------------------------------
_rows(
    BackendError,
    {
        "WF745": (
            "the answers of the grid are checked on the GPU by PyTorch, which {problem}",
            "install a PyTorch with CUDA: python -m pip install torch",
        ),
    },
)
_rows(
    FileError,
    {
        "WF752": (
            "{path} was measured on {found}: expected {expected}, the device of this run",
            "compare with a grid of the same device",
        ),
    },
)
_rows(
    ArgumentError,
    {
        "WF753": (
            "no layout of the grid matches {pattern!r}: its kinds are {kinds}",
            "write a kind and a pattern, such as --only 'short.*'; --list shows all names",
        ),
        "WF754": ("the grid has no cells of type {dtype!r}: expected some of {known}", "write --dtypes f32,bf16"),
    },
)

# --- WF74: the benchmark -----------------------------------------------------------------------------------------
_rows(
    ArgumentError,
    {
        "WF740": (
            "the benchmark has no case {name!r}{near}: expected one of {groups}, plain, a case's name, or a pattern",
            "name groups, row.sum.*, or a shape of your own: row.sum.f32.1000x1000; all cases stand in "
            "commands/bench/cases.py",
        ),
        "WF741": ("the benchmark has no peer {name!r}{near}: expected some of {known}, or none", "name some of them"),
    },
)
_rows(
    BackendError,
    {
        "WF742": (
            "{command} times a GPU, and there is none: {reason}",
            "run it on a machine with a CUDA device; {instead}",
        ),
    },
)
_rows(
    FileError,
    {
        "WF743": (
            "{path} holds results of {command}, version {found}: expected {expected}",
            "measure again: {command} --out {path}",
        ),
        "WF744": (
            "{path} holds no results of {command}, or damaged ones: {reason}",
            "measure again: {command} --out {path}",
        ),
    },
)


def error(code: str, *, where: Location | None = None, **facts: object) -> WarpfoldError:
    """Makes (does not raise) the error ``code`` with its texts filled from ``facts``.

    Args:
        code: a key of ``CATALOGUE``; an unknown one is a ``KeyError``, which a test forbids.
        where: the user's source line, when there is one.
        facts: the values named in the row's templates.
    """
    row = CATALOGUE[code]
    return row.kind(code, row.text.format(**facts), row.remedy.format(**facts), where)


def near(name: str, known: Iterable[str]) -> str:
    """The known names that ``name`` may be a slip of, as messages ask for them; nothing where none is like it."""
    found = get_close_matches(name, list(known), n=2)
    return f" (did you mean {' or '.join(found)}?)" if found else ""
