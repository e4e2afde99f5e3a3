"""WF1: arrays and arguments."""

from __future__ import annotations

from ..kinds import ArgumentError, DTypeError, Entries, MissingModuleError, MissingNameError

ENTRIES: Entries = {
    ArgumentError: {
        "WF101": ("axis {axis} is out of range for an array of rank {rank}: expected {expected}", "{remedy}"),
        "WF102": ("axis {axis} is repeated in {axes}", "name every axis once"),
        "WF104": (
            "{name} of no elements has no value: axes {axes} of shape {shape} are empty and {name} has no identity",
            "reduce a non-empty axis, or test the size first",
        ),
        "WF106": (
            "{what} of {bytes} bytes is no multiple of the {itemsize} bytes that an element of type {dtype} takes",
            "copy the array first, so that its elements are aligned: numpy.array(x)",
        ),
        "WF107": ("the inputs are on different devices: {devices}", "move them to one device first"),
        "WF108": ("out has shape {found}: expected {expected}", "pass an array of that shape, or leave out= away"),
        "WF110": (
            "elements of out share memory: its strides are {strides} elements for shape {shape}",
            "pass an array whose elements lie apart: results would overwrite each other",
        ),
        "WF111": ("out shares memory with input {position}", "pass an array of its own: results would overwrite input"),
        "WF112": ("out is on {found}: the inputs are on {expected}", "move out to the device of the inputs"),
        "WF113": ("out cannot be written: it is {reason}", "pass a writable array, or leave out= away"),
        "WF120": (
            "no reduction is called {name!r}{near}: expected one of {known}",
            "name one of these, or pass a monoid or a function",
        ),
        "WF121": ("device cannot be {device!r}: expected auto, cuda or emulator", "leave it out for auto"),
        "WF122": (
            "the array is on {found}, which the {backend} backend cannot reach",
            "copy it to the host first, or run with device='cuda'",
        ),
        "WF123": (
            "this artifact of {name} was compiled for {expected}: the array needs {found}",
            "compile it for arrays of this kind, or let warpfold choose: {call}",
        ),
        "WF124": ("{name} takes {expected} input array(s), got {found}{taken}", "{remedy}"),
        "WF125": ("out holds {found} array(s): the reduction has {expected} result(s)", "pass one array per result"),
        "WF126": ("the inputs do not broadcast to one shape: {shapes}", "sizes along an axis must be equal, or 1"),
        "WF127": ("{name} takes no parameter {parameter!r}: it takes {known}", "{remedy}"),
        "WF128": (
            "parameter {parameter!r} of {name} is a {kind}: expected a number, a string or a tuple of them",
            "parameters are baked into the kernel: write a tuple in place of a list; what is an array is made one "
            "first: numpy.array(x)",
        ),
        "WF129": ("a shape has whole sizes of at least 0, got {shape}", "write (4096, 1024), or pass x.shape"),
        "WF130": ("cannot reduce with {kind}: expected {expected}", "{remedy}"),
        "WF131": ("plan is text, got a {kind}", "write plan='key=value,key=value'"),
        "WF132": ("{result} shares memory with {other}", "pass an array of its own for each result"),
        "WF133": ("{name} has no identity: where= may leave a result without elements", "{remedy}"),
        "WF134": ("{name} of no elements has no value: all elements of a result are NaN", "test for that first"),
        "WF135": ("the input of {name} holds NaN", "leave nan='raise' away, or reduce with nan='ignore'"),
        "WF136": ("initial={initial} does not fit {name}: expected {expected}", "give a value that the state can hold"),
        "WF137": ("{name} has no compensated form", "give accumulate= a wider type, such as 'f64'"),
        "WF138": ("{option} cannot be {value!r}: expected {expected}", "leave it out for {default}"),
        "WF139": (
            "where= has elements of type {dtype} and shape {shape}: expected bool, broadcastable to {expected}",
            "compare first, as in where=mask != 0; words of bits are u32 or i32, and not for what is compiled",
        ),
        "WF141": (
            "offsets have shape {shape}: expected one dim of at least 1 entry",
            "pass the start of every segment and the end of the last",
        ),
        "WF142": (
            "offsets[{position}] is {value}, outside an axis of {size} elements",
            "{meant}keep offsets from 0 to {size}",
        ),
        "WF143": (
            "offsets decrease: offsets[{position}] is {value}, the next is {following}",
            "{meant}sort them; segment k is x[offsets[k]:offsets[k + 1]]",
        ),
        "WF144": (
            "{name} of no elements has no value: segment {position} is empty and {name} has no identity",
            "leave empty segments out, or give an initial value",
        ),
        "WF145": ("segments are along one axis, got axis={axis}", "name it: axis=0"),
        "WF146": (
            "segments are reduced element by element in one CTA each: {key}={value} does not fit",
            "leave {key} out of the plan",
        ),
        "WF148": (
            "parameter {parameter!r} of {name} is {value!r}: expected a {expected}, as its default {default!r} is",
            "convert it first",
        ),
        "WF170": (
            "there is no process group: expected torch.distributed.init_process_group to have been called",
            "start the processes with torchrun, and call torch.distributed.init_process_group first",
        ),
        "WF164": (
            "{name} got a {kind} for array {number}: expected a tensor of PyTorch: ranks exchange no others",
            "convert it first: torch.as_tensor(x)",
        ),
        "WF168": (
            "this process is not one of the ranks of group=: torch.distributed.new_group gave it no group",
            "call it on the ranks of the group alone",
        ),
        "WF169": (
            "rank {rank} cannot make this call, and its own error says why",
            "correct the call on that rank; the others waited for it",
        ),
        "WF171": (
            "the shard of rank {rank} {problem}, as that of rank 0",
            "make the same call on every rank, of shards that differ only in the extent of the axis that is cut",
        ),
        "WF172": (
            "{count} ranks cannot share axis {axis} of the result, which has extent {extent}: expected a multiple of "
            "{count}",
            "leave scatter= out, or name another axis of the result",
        ),
        "WF173": (
            "{name} does not run on shards that lie so: {problem}",
            "cut other axes with shards=, or run it on the whole arrays of each rank",
        ),
        "WF174": (
            "this reduction cannot be cut so: {problem}",
            "cut the array along the first reduced axis: shards=AXIS",
        ),
        "WF176": ("{name} got {found} argument(s) by position: expected {expected}", "{remedy}"),
        "WF194": (
            "{name} got {parameter!r} twice: by position and by name",
            "give it once; the arguments by position are {taken}",
        ),
        "WF177": (
            "segments are given by offsets or by ids, got {found}",
            "write wf.segment_reduce(x, offsets, what), or wf.segment_reduce(x, what, ids=ids, num_segments=n)",
        ),
        "WF178": (
            "the {size} integers for {size} elements, the last of them {last}, were read as the offsets of {segments} "
            "segments",
            "if they are ids, pass them as ids=; if they are offsets, end them with {size} or end x at the last one",
        ),
        "WF179": (
            "ids have shape {shape}: expected ({size},), the segment's number for each element along the axis",
            "pass one id for each element; boundaries of segments are offsets",
        ),
        "WF180": (
            "ids decrease: ids[{position}] is {value}, the next is {following}",
            "sort the elements by them: order = numpy.argsort(ids, kind='stable'), then x[order] and ids[order]",
        ),
        "WF181": (
            "ids[{position}] is {value}: expected a number from 0 to below {number}, the number of segments",
            "number segments from 0, and pass as many as there are as num_segments=",
        ),
        "WF182": (
            "num_segments is {number}: expected a whole number of at least 0",
            "leave it out for the last id + 1",
        ),
        "WF150": (
            "dot takes two arrays of rank 1 and of one size, got shapes {shapes}",
            "give both as many elements; for arrays of other ranks use vecdot, which reduces an axis",
        ),
        "WF151": ("{name} needs the parameter {parameter!r}", "{remedy}"),
        "WF152": (
            "elements of type {dtype} cannot be added up in {accumulate}",
            "give a float type for floats, a complex one for complex numbers",
        ),
        "WF153": (
            "accumulate={value!r} is no type to add up in: expected an element type, such as f64, or 'compensated'",
            "leave accumulate= away for the usual one",
        ),
        "WF154": ("a {kind} was given as {name}: expected integers", "write wf.segment_reduce(x, offsets, what)"),
        "WF165": ("a tensor {reason}: the result of this call would have no gradient", "{remedy}"),
        "WF166": ("a {kind} has no memory that holds its elements: {reason}", "{remedy}"),
        "WF167": (
            "there is no memory for a result of shape {shape} in {dtype}: it takes {bytes} bytes",
            "reduce more axes, or a part of the array at a time",
        ),
        "WF185": (
            "the arrays of {name} lie in {found} dims that no stride joins: expected at most {most}",
            "copy arrays whose axes are in another order or have gaps, so that fewer dims are left",
        ),
        "WF186": (
            "{result} shares memory with {other}: {reason}",
            "pass an array of its own, or all of an input from which the result is computed element by element",
        ),
        "WF187": (
            "{name} has a parameter {parameter!r}, which is an argument of every call of a program",
            "give it another name",
        ),
        "WF188": (
            "{name} is a part of another program here, and takes none of {options}",
            "give them to the call of the whole program",
        ),
        "WF189": (
            "in {name} a target is not the number of a class: expected 0 to classes - 1, or ignore_index",
            "correct the targets; rows without one have the number ignore_index; without check=True their loss is NaN",
        ),
        "WF193": ("JAX traces an argument, and {what}", "{remedy}"),
        "WF195": (
            "{name} is {value}: expected a whole number from 0 to 2^64 - 1",
            "take it modulo 2^64, as numpy.random.SeedSequence().generate_state(1, 'uint64') does",
        ),
        "WF183": (
            "{name} cannot be pickled: its {part} is {what}, which another process cannot find",
            "define the function with def at the top level of a module",
        ),
        "WF118": (
            "bincount got the element {value}: expected integers from 0 on",
            "take the least element away first, or count negative ones by histogram with range=",
        ),
        "WF119": (
            "{results} results were asked for: expected at most {most}",
            "number fewer results: divide the elements first, use wider bins, or number segments from 0 on",
        ),
        "WF147": (
            "weights have shape {found}: expected {expected}, that of the elements",
            "pass a weight for each element",
        ),
        "WF155": (
            "bins are {found}: expected a number of bins from 1 on, or two edges and more that do not fall",
            "pass bins=10, or the edges in rising order, such as bins=[0, 1, 5]",
        ),
        "WF156": (
            "the range of bins is {found}: expected two finite numbers, the least edge first",
            "pass range=(low, high), which leaves out infinite elements and NaN",
        ),
        "WF190": ("this cannot be computed of arrays of Dask: {problem}", "{remedy}"),
        "WF191": (
            "{name} takes elements in the order of axis {first}, and chunks are cut along axes {axes}",
            "let each chunk have all of the other reduced axes: x.rechunk({{axis: -1}})",
        ),
        "WF192": (
            "the words of bits in {what} are {stride} elements apart along their last axis: expected neighbours",
            "copy the array first, so that words follow each other: numpy.ascontiguousarray(bits)",
        ),
        "WF196": (
            "a slice of the bits in argument {position} begins at bit {offset}, inside of a word",
            "begin at a multiple of 32 along the axis that is packed, or unpack the bits in a call of its own: "
            "wf.unpack(bits, shape)",
        ),
        "WF197": (
            "replace_modules got a {kind}: expected a torch.nn.Module",
            "pass the model itself; its state dict and its parameters have no modules",
        ),
        "WF199": (
            "{name} got a value of type {kind}: expected a function of arrays",
            "pass a function such as lambda x: wf.sum(x * x), a program, or a reduction such as wf.sum",
        ),
        "WF184": (
            "a pickle names {module}.{name}, which is not there",
            "make the module of the monoid one that this process can import",
        ),
    },
    MissingModuleError: {
        "WF198": (
            "{module} works with {library}, which is not installed",
            "install it ({how}), or use the functions of warpfold, which need no library",
        ),
    },
    MissingNameError: {
        "WF175": ("warpfold has no {name}{near}", "{remedy}"),
    },
    DTypeError: {
        "WF103": ("axis must be an int, a tuple of ints or None, got {axis}", "{remedy}"),
        "WF105": (
            "no rule for elements of type {dtype}: expected one of {known}",
            "give one of these types; convert an array that has another",
        ),
        "WF109": ("out has elements of type {found}: expected {expected}", "pass dtype=, or an out of that type"),
        "WF114": ("a {kind} cannot be read as a dense array: {reason}", "{remedy}"),
        "WF115": ("{library} has no element type {dtype} for the result", "ask for another type with dtype="),
        "WF140": ("{name} have elements of type {dtype}: expected integers", "convert them: {name}.astype('int64')"),
        "WF157": (
            "start is {start}: expected how many elements come before these {count}, an integer from 0 on, and less "
            "than 2^63 elements in all",
            "pass start=state.stop, or use wf.update, which does",
        ),
        "WF158": ("expected states of reductions, which wf.partial makes; found {kind}", "{remedy}"),
        "WF159": (
            "state {number} is of {what} {found}: expected {expected}, as the first one",
            "combine states of the same reduction, with the same parameters, of arrays of the same types and axes",
        ),
        "WF161": (
            "state {number} begins at element {found}: expected {expected}, where the one before it ends, since {name} "
            "looks at positions",
            "pass start= to wf.partial, or use wf.update; and combine the states in the order of their elements",
        ),
        "WF162": (
            "no array came to be reduced{found}: expected a sequence of one at least",
            "pass a list or a generator of arrays that is not empty; what a reduction makes of no elements depends on "
            "their shape and type",
        ),
        "WF163": (
            "{path} holds a state of {found}, which is another reduction than {expected}",
            "pass the reduction and the parameters that the state was made with",
        ),
        "WF160": (
            "the element type {name!r} has two readings: {bits} bits{ours}, and in NumPy {bits} bytes ({theirs})",
            "{remedy}",
        ),
        "WF116": (
            "bincount got elements of type {dtype}: expected integers or bools",
            "convert them, x.astype('int32'), or count ranges of them: wf.histogram(x, bins)",
        ),
        "WF117": (
            "weights are of type {dtype}: expected integers or bools, whose sums are exact in any order",
            "scale them to integers, or add up floats by segments of sorted elements: wf.segment_reduce",
        ),
        "WF149": ("unique of {dtype} is not supported: expected 8- or 16-bit integers or bool", "{remedy}"),
    },
}
