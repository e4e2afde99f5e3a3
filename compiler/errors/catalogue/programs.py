"""WF2: tracing and monoids."""

from __future__ import annotations

from ..kinds import Entries, TraceAttributeError, TraceError

ENTRIES: Entries = {
    TraceError: {
        "WF201": (
            "the function branches on a symbolic value (if, and, or, not, or a chained comparison)",
            "compute both branches and choose: wf.where(condition, a, b); write & | ~ for and, or, not, and "
            "wf.maximum, wf.minimum for max, min",
        ),
        "WF202": (
            "a symbolic scalar cannot be unpacked or iterated",
            "the function sees one element at a time, and wf.fold reduces all of them; a state of several values is a "
            "tuple where the monoid has one identity per value",
        ),
        "WF203": (
            "a symbolic value cannot become a Python {conversion}",
            "leave {conversion}() out, as in x * wf.sum(x); a type is wf.cast(x, dtype), and wf.exp, wf.sqrt and so on "
            "stand for the functions of math and numpy",
        ),
        "WF252": (
            "a symbolic value cannot be a key of a dict or a member of a set: it has no number while the function is "
            "traced",
            "keep values in a list or a tuple; for x in {{1, 2}} write (x == 1) | (x == 2)",
        ),
        "WF204": (
            "the constant {value} does not fit {dtype}: expected a whole number from {lowest} to {highest}",
            "cast the other operand to a wider type first: wf.cast(x, 'i64')",
        ),
        "WF205": (
            "the function uses a value of type {kind}: expected a symbolic value or a Python number",
            "compute with Python numbers and the function's arguments; pass another array as another argument",
        ),
        "WF206": ("operator {op} is not defined for {dtype}", "cast the operands first: wf.cast(x, dtype)"),
        "WF207": (
            "combine function {name} takes {count} required argument(s): expected 2, the left and the right state",
            "write two parameters, a and b; states of several values are tuples",
        ),
        "WF208": (
            "combine function {name} returns {found} value(s): expected {expected}, one per value of the state",
            "return as many values as the state has",
        ),
        "WF209": (
            "combine function {name} returns {found} as value {position}: expected {expected}, the type of the state",
            "{remedy}",
        ),
        "WF210": (
            "the identity of {name} has {found} value(s), but the fold has {expected}: expected one per value of "
            "the state",
            "give one identity per value, and a lift that returns as many",
        ),
        "WF211": (
            "{name} is folded over values that are reduced already",
            "fold values that depend on the elements of an input",
        ),
        "WF212": (
            "result {position} of {name} was never reduced",
            "return values made with wf.fold(monoid, ...), or elementwise functions of them",
        ),
        "WF213": (
            "{name} folds values with {outer} that depend on the result of the fold with {inner}",
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
        "WF216": ("fast must be a bool, got {found}", "pass fast=True for the GPU's approximation"),
        "WF217": ("{name} does not take symbolic values", "{remedy}"),
        "WF218": (
            "combine function {name} uses {what}: expected only the values of its two states",
            "lift elements before the fold, and finish the state after it",
        ),
        "WF219": ("check_monoid looks at a monoid, got a {kind}", "pass what @wf.monoid made"),
        "WF220": ("{name} reduces {expected} array(s): {found} type(s) given", "give the type of each array"),
        "WF221": (
            "{name} breaks laws that it claims:{laws}",
            "results may depend on the order of the elements; see wf.check_monoid, or correct the claim",
        ),
        "WF222": (
            "{name} is no monoid, and only a monoid has laws",
            "write FILE.py:NAME of a wf.monoid, such as the one that it folds with",
        ),
        "WF224": (
            "{name} names a result {key}: expected an identifier that is no keyword and begins with a letter",
            "rename it",
        ),
        "WF225": ("{dtype} has no {lack}", "reduce its parts or its absolute value: x.real, x.imag, abs(x)"),
        "WF226": (
            "the finish of {name} takes {found} value(s): expected {expected}, one per value of the state",
            "write one parameter per value of the state",
        ),
        "WF227": (
            "the identity of {name} holds a {kind}: expected numbers of the state's types",
            "give one number per value of the state",
        ),
        "WF228": ("{role} {name} returns nothing: expected {expected}", "end it with a return"),
        "WF249": (
            "{name} is declared a First, but its state is ({found}): expected an element and its number, an integer",
            "fold the element and wf.index(), or leave structure= out",
        ),
        "WF250": (
            "monoid {name} has no identity: expected identity=, the state that changes no other",
            "give it, as identity=0 for a sum; or pass has_identity=False where no state is neutral",
        ),
        "WF253": (
            "{name} uses a symbolic value of another function, or of another call: expected its own elements",
            "a value means nothing after its function has returned: keep none in a list, a global or an attribute",
        ),
        "WF254": (
            "shapes {shapes} do not broadcast: axis {axis} has size {size} in {first} and size {found} in {second}",
            "sizes must be equal or 1, counted from the last axis; insert an axis with x[:, None], or keep a reduced "
            "one with keepdims=True",
        ),
        "WF255": (
            "{value} has shape {found}, which does not broadcast to {expected}",
            "only axes of size 1 stretch, and new axes stand in front",
        ),
        "WF256": ("axis {axis} is not an axis of {value}, which has {rank} of them: expected {expected}", "{remedy}"),
        "WF257": (
            "{what} of an array with {rank} axes: expected {expected}",
            "insert axes with x[None, :], or reduce with keepdims=True",
        ),
        "WF258": (
            "the elements of a symbolic array exist when the program runs: {what}",
            "write the computation on whole arrays, and reduce along an axis: wf.sum(x, axis=0)",
        ),
        "WF259": (
            "{found}: expected x[mask] = value, with a bool array of the shape of x, one value, and an x that the "
            "function made",
            "make a new array: x = wf.where(condition, a, x)",
        ),
        "WF260": (
            "operator @ is not defined for symbolic arrays",
            "write the products and sum them: wf.sum(a[..., :, None] * b[..., None, :, :], axis=-2); for large "
            "matrices call a matrix library outside of the program",
        ),
        "WF262": (
            "a symbolic array is indexed by {index}: expected None, ..., integers, or slices by integers",
            "{remedy}",
        ),
        "WF277": (
            "{name} got {found} as axis: expected an integer, several, or None",
            "pass axis= an integer, such as -1; what is added to x is bias=: wf.{name}(x, bias=b)",
        ),
        "WF278": (
            "{name} cannot have a result of type {dtype}: expected a float type",
            "leave dtype= out, or convert the result: wf.cast(y, '{dtype}')",
        ),
        "WF282": (
            "the operator `in` asks for the elements of a symbolic value, which exist when the program runs",
            "compare: wf.any(x == value) in a program of arrays, wf.fold(wf.ANY, x == value) in a reduction",
        ),
        "WF283": (
            "{found} is no size: expected a whole number, or the size of an axis, such as x.shape[0]",
            "{remedy}",
        ),
        "WF251": (
            "{name} takes whole arrays: it was called with one element, in a function that folds",
            "call it on the array, in a wf.program or before the reduction; for elements there are wf.exp, "
            "wf.maximum and their like",
        ),
        "WF247": (
            "{name} calls itself without an end: Python's stack is full",
            "end it by a number that Python knows, such as a parameter or x.shape[0]; a loop of Python is traced, too",
        ),
        "WF245": (
            "{name} got the function {found} in the place of its array",
            "the array comes first, and what reduces behind it: wf.{name}(x, wf.SUM, axis=0); a combine function "
            "becomes a monoid by @wf.monoid(identity=...)",
        ),
        "WF246": (
            "a mask has elements of type {dtype}: expected bools, or the words of u32 or i32 that wf.pack makes",
            "compare first, as in where=mask != 0",
        ),
        "WF285": ("{name} is of type {kind}: expected an array", "{remedy}"),
        "WF295": (
            "{name} is an array of rank {rank} and of {kind}: expected a whole number",
            "pass a Python int, or an array of rank 0 of an integer type",
        ),
        "WF296": (
            "batch_norm got one element a channel: it has no variance to normalise by",
            "train on more elements a channel, or leave training= out and pass running statistics",
        ),
        "WF297": (
            "dropout_backward got {found} of bits and seed: expected one of them",
            "pass the bits that the forward kept, or its seed= and offset=",
        ),
        "WF298": (
            "batch_norm_backward got a residual and an activation without bits: x alone does not tell what passed",
            "keep them in the forward with keep='bits', and pass them as bits=",
        ),
        "WF299": (
            "{name} of batch_norm is an array of {found}: expected floats and rank {rank}, which a call can update",
            "pass an array of a float type, such as f32, with an element for each channel",
        ),
        "WF284": (
            "{index} is no index of axis {axis} of {value}, which has size {size}",
            "indices count from 0, or from -1 backwards",
        ),
        "WF286": (
            "axis {axis} of {value} has no slice {index}: {reason}",
            "slice the array before the call, or before it is reshaped",
        ),
        "WF265": (
            "axis {axis} of {value} has size {size}: squeeze drops axes of size 1",
            "reduce along the axis, as wf.sum(x, axis={axis}) does, or name another",
        ),
        "WF266": (
            "{size} is a size that no axis of an array of the program has",
            "write sizes of arrays, such as x.shape[0]; a constant of other sizes is a number, which broadcasts, or an "
            "array that is passed as an argument",
        ),
        "WF267": (
            "{what} has no axes to go along outside of a reduction",
            "reduce arrays along an axis: wf.sum(x, axis=-1), wf.fold(monoid, x, axis=-1), wf.reduce(x, function, "
            "axis=-1); positions are x.__array_namespace__().arange(x.shape[-1])",
        ),
        "WF269": (
            "{name} has shape {found}: expected one that broadcasts to {expected}",
            "pass an array with the sizes of the axes that are normalised, in their order",
        ),
        "WF270": (
            "batch_norm got {found} of running_mean and running_var with training={training}: expected {expected}",
            "pass both to normalise with them; with training=True, which normalises with the statistics of the array, "
            "pass both to update them, or neither",
        ),
        "WF271": ("the targets have {found}: expected integers, one for each row: rank {rank}", "{remedy}"),
        "WF223": (
            "torch.jit.script compiles Python that it can type, and {name} is none",
            "use torch.compile, or call it in a function that is marked with @torch.jit.ignore",
        ),
        "WF281": (
            "the weight has {found}: expected floats, one for each of {size} class(es): rank 1",
            "pass the factor of each class; multiply losses with reduction='none' by a factor for each row",
        ),
        "WF272": (
            "arrays are not quantised to {dtype}: expected one of {known}",
            "convert to other types with wf.cast(x, dtype)",
        ),
        "WF268": (
            "{array} is of type {dtype}: programs of arrays compute with real numbers",
            "pass the real and the imaginary part as two arrays: x.real, x.imag",
        ),
        "WF244": (
            "indices have {found}: expected integers with {rank} axes",
            "insert an axis, as indices[:, None] does, or cast them, as wf.cast(indices, 'i64') does",
        ),
        "WF273": (
            "{value} of shape {found} cannot be read in shape {expected}",
            "keep the number of elements, split axes at whole numbers, and join neighbours; or reshape before the call",
        ),
        "WF274": (
            "an axis of size {size} is used as {first} and as {second}: expected parts of which one divides the other",
            "split the axis in one way",
        ),
        "WF276": (
            "{option}={found} for axis {axis} of {value}, of size {size}: expected an integer that divides the size",
            "groups and blocks are all of one size; pad the array before the call, or take another number",
        ),
        "WF291": ("{name} cannot have include_initial=True: {reason}", "{remedy}"),
        "WF292": ("{name} goes along one axis: got axis={axis} for an array of rank {rank}", "{remedy}"),
        "WF293": (
            "an exclusive scan begins with the identity, which {name} lacks",
            "scan with exclusive=False, or give the monoid an identity: @wf.monoid(identity=...)",
        ),
        "WF290": (
            "the slice {index} of what was scanned goes along the axis of the scan: its elements depend on others",
            "slice the array before the scan, or the result of the call",
        ),
        "WF294": (
            "a scan does not count elements, as mean and var do: each of its results has another number of them",
            "divide by the position: wf.index() + 1 in the reduction that is scanned",
        ),
        "WF280": (
            "topk got k={k}: expected an integer from 1 to {greatest}, as the axis has {n} elements and a list has at "
            "most {most}",
            "{remedy}",
        ),
        "WF275": (
            "block= has {found} sizes: expected {expected}, one for each of the axes",
            "name the axes of a block with axis=, such as axis=(-2, -1), block=(128, 128)",
        ),
        "WF279": (
            "fold got {option} in a reduction: elements have no axes",
            "leave it to the call, wf.reduce(x, function, axis=...); a function of whole arrays is a wf.program",
        ),
        "WF287": (
            "pack was given {found}: expected an array of bools of rank 1 or more",
            "compare first, as in wf.pack(x > 0)",
        ),
        "WF288": (
            "{found} stands where an array of bools, or for unpack an argument of u32 or i32, is expected",
            "unpack bits before they are used: wf.unpack(bits, x.shape), where bits is an argument of the function; "
            "bools are used as they are",
        ),
        "WF289": (
            "bits have shape {found}: expected {expected} for truth values of shape {shape}",
            "pass the words that wf.pack gives for this shape: 32 elements of the last axis in each, or with flat=True "
            "32 of all {elements} elements; integers of 0 and 1 are compared first: mask != 0",
        ),
        "WF263": (
            "result {position} of {name} is no array: it is of type {kind}",
            "return arrays that the function computes from its arguments, in a tuple, a list or a dict if there are "
            "several",
        ),
        "WF238": (
            "a symbolic value has no entries: {index} was {done}",
            "the function sees one element, not the array: slice the array before the call, or choose by position with "
            "wf.where(wf.index() > 0, x, 0); a state of several values is a tuple where the monoid has one identity "
            "per value",
        ),
        "WF239": (
            "operator @ is not defined for one element",
            "write the products, and fold them: wf.fold(wf.SUM, x * y)",
        ),
        "WF240": (
            "a symbolic value cannot be formatted as {form!r}: it has no number while the function is traced",
            "format the result of the reduction; print(x) in the function shows what is traced",
        ),
        "WF243": (
            "a symbolic value is rounded to whole numbers alone: {digits} digits were asked for",
            "write wf.round(x * 10**digits) / 10**digits",
        ),
        "WF241": ("{name} raised {kind} while it was traced", "{remedy}"),
        "WF242": (
            "wf.monoid was given {found} by position: expected identity= by name, and the function below it",
            "write @wf.monoid(identity=0), with the state that changes nothing: 0 for a sum, 1 for a product",
        ),
        "WF230": (
            "there is no cast from {dtype} to {to}: it would drop the imaginary part",
            "take x.real, x.imag or abs(x)",
        ),
        "WF231": (
            "{operation} of {dtype} is computed in {dtype}, where it {loss}, before it is folded with {name}",
            "widen the elements first: wf.cast(x, '{wide}'); or choose this type: wf.cast(x, '{narrow}')",
        ),
    },
    TraceAttributeError: {
        "WF261": ("a symbolic array has no attribute {name}{near}", "{remedy}"),
        "WF264": ("the namespace of symbolic arrays has no {name}{near}", "{remedy}"),
        "WF229": (
            "an element of an array has no attribute {name}: it is one value, traced as the kernel computes it",
            "fold elements with wf.fold, convert one with wf.cast(x, dtype), count them with wf.count(); elementwise "
            "functions are wf.exp, wf.abs and their like",
        ),
    },
}
