"""WF8: the command lines."""

from __future__ import annotations

from ..kinds import ArgumentError, BackendError, Entries, FileError, TraceError

ENTRIES: Entries = {
    ArgumentError: {
        "WF801": ("no reduction or program is called {name!r}{known}", "{remedy}"),
        "WF802": ("{text!r} is not a shape{reason}", "write whole sizes with x between them: --shape 4096x1024"),
        "WF803": ("{text!r} names no axes", "write one axis or several: --axis 1, --axis 0,2, --axis -1"),
        "WF806": (
            "{path} has no monoid, function or program called {name!r}{near}: it has {known}",
            "write file.py:name with one of these names",
        ),
        "WF807": (
            "{name} of {path} is a {kind}: expected a wf.monoid, a wf.program or a function",
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
        "WF811": ("arrays of shape {shape} take {needed}: this machine has {memory}", "choose a smaller --shape"),
        "WF812": ("an artifact is a file and needs a path", "add -o name.warpfold"),
        "WF813": ("{form} has no {part}", "use {option} with {forms}"),
        "WF814": ("{first} and {option} cannot be given together", "{remedy}"),
        "WF815": ("{text!r} is no parameter", "write --param name=value: --param correction=1"),
        "WF816": ("an array of shape {shape} has no elements, and so no order to combine them in", "give it elements"),
        "WF817": ("parameter {key} is given twice: {first} and {second}", "give it once"),
        "WF818": ("{path} does not say what to compute: it has {known}", "write {path}:name with one of these names"),
        "WF819": (
            "{name} takes {expected} input array(s), got {found} --input file(s)",
            "give --input {expected} time(s), with a file each",
        ),
        "WF820": (
            "the launch does not parse: expected {expected}, got {got}{place}",
            "write kernel<<<grid, block>>>(arguments), such as sum<<<132, 256>>>(f32[1048576], out:f32[1]=0, 1048576)",
        ),
        "WF821": ("{problem}: {path} has {known}{place}", "name one of these before the <<<"),
        "WF822": (
            "argument {index} of kernel {kernel!r} does not fit parameter {name!r}: "
            "expected {expected}, got {got}{place}",
            "arrays go to pointers of 8 bytes, numbers to parameters of their size, "
            "{{x:f32[64], n:i32=64}} or hex:00ff to structures",
        ),
        "WF823": (
            "kernel {kernel!r} takes {expected} argument(s), got {got}{place}",
            "give one argument a parameter: {signature}",
        ),
        "WF824": ("{problem}{place}", "an array is made where it is first named, x:f32[1024], and is x from then on"),
        "WF825": ("the array cannot be made: {problem}{place}", "write type[shape]=value, such as f32[4096x1024]=0"),
        "WF827": ("{problem}", "{remedy}"),
        "WF828": (
            "--output {text!r} names no array of the launches: expected NAME=FILE, NAME one of {known}",
            "name the array where it is made, x:f32[1024], and write --output x=FILE",
        ),
        "WF832": ("the ladder has no rung called {name!r}{near}: it has {known}", "name one of these, or none for all"),
        "WF835": ("a search cannot last {seconds} seconds", "give a time above 0: seconds=30 (--seconds 30)"),
        "WF836": ("an array of shape {shape} leaves nothing to reduce, and so nothing to time", "give it elements"),
        "WF837": ("--forget deletes all finds, but {op} names one reduction", "write warpfold tune --forget alone"),
        "WF838": (
            "{path} holds elements of {size} byte(s) without their type: .npy has no name for {types}",
            "name it: --dtype {types}",
        ),
        "WF839": ("{path} holds {held}: --dtype says {asked}", "{remedy}"),
        "WF840": (
            "{name} takes {expected} array(s) ({names}), got {found}",
            "give one --shape or --input for each, in this order, or by name: --shape NAME=1024",
        ),
        "WF841": (
            "{shapes} --shape for {count} random array(s) beside the files of --input",
            "write --input random in the place of each array that a --shape describes, or name it: --shape NAME=1024",
        ),
        "WF842": (
            "--dtype gives {name} a type, and no --shape or --input gives {name}",
            "name the array there, too: --shape {name}=1024; arrays by position have types without a name",
        ),
        "WF843": (
            "{name} is a reduction of arrays of one shape, got {found} shapes",
            "give one --shape; a wf.program takes arrays of several shapes",
        ),
        "WF844": ("{name} is a program of arrays: {option} is for reductions", "{remedy}"),
        "WF852": ("{option} is given without {needed}", "add {needed}: only runs in chunks leave a state"),
        "WF853": (
            "{option} is for arrays of files: expected --input FILE",
            "name the .npy file; random arrays are made whole",
        ),
        "WF854": (
            "{path} holds a state that this run does not go on from: {problem}",
            "resume with the files and the --axis of the run that left it, or delete it to begin anew",
        ),
        "WF855": (
            "{option} needs a state, and there is none: the arrays are cut along axis {axis}, which is kept",
            "leave it out; results of rows that were reduced are not kept",
        ),
        "WF851": (
            "{text!r} is no number of bytes: expected a number with a unit, such as 256MiB or 1GiB",
            "write the number first, and B, KiB, MiB, GiB or TiB after it",
        ),
        "WF850": (
            "the arrays lie in their files by axis {axis}, and elements are combined in the order of axis {first}",
            "store them in C order: numpy.save(path, numpy.ascontiguousarray(x))",
        ),
        "WF845": (
            "the results of {name} have shapes {shapes}: a .npy file holds arrays of one shape",
            "write --output to a file that ends in .npz",
        ),
        "WF846": (
            "{name} is a monoid, whose laws need no {option}",
            "write --dtype alone; to run it, use warpfold run",
        ),
        "WF847": (
            "{name} is a reduction: the rungs of PROGRAM are for rows that are read again",
            "write warpfold ladder --op {op}, or name a program such as softmax",
        ),
        "WF848": (
            "{name} is a reduction: the cases of the benchmark name reductions",
            "write warpfold bench --cases row.sum.f32.4096x1024, or name a program",
        ),
        "WF849": (
            "{option} chooses among the cases of the benchmark, and {op} is a program of your own",
            "leave one out",
        ),
        "WF864": (
            "{option} is for a program of your own, and the benchmark measures its cases as they are",
            "name the program, warpfold bench softmax {option} ..., or leave it out",
        ),
        "WF865": (
            "{path} ends in {found}: results are written as arrays of NumPy",
            "write --output to a file that ends in .npy or .npz; numpy.savetxt makes text of it",
        ),
        "WF856": ("a page shows what warpfold compiles, and {op} is PTX already", "use warpfold profile {op} --lines"),
        "WF857": (
            "the arrays have {count} elements together: the emulator runs at most {most} for a page",
            "give a smaller --shape: counts, drawings and the player are then there, too",
        ),
        "WF858": (
            "{name} counts elements: this command is for reductions and programs",
            "use run, compile, explain, profile or sanitize for counts",
        ),
        "WF859": ("{name} counts the elements of one array: it has no {option}", "leave it out"),
        "WF897": ("--plan is for one program, and a gradient is two: a forward and a backward", "leave one out"),
        "WF898": (
            "--plan chooses kernels, and --gradient runs none: it evaluates the gradient in NumPy",
            "leave one out",
        ),
        "WF899": (
            "{name} is a reduction: --gradient is for programs",
            "write it as one in a file, @wf.program def f(x): return wf.sum(x, axis=1), and name FILE.py:f",
        ),
        "WF891": ("no pass is called {name!r}{near}", "warpfold-opt --list-passes names warpfold's own passes"),
        "WF892": ("the pass pipeline does not parse: {reason}", "write builtin.module(pass,gpu.module(pass),...)"),
        "WF893": ("{name} runs on builtin.module and cannot be nested in {anchor}", "move {name} out of {anchor}(...)"),
        "WF894": ("{name} takes no options, got {options}", "write {name} alone: the IR carries what it reads"),
    },
    FileError: {
        "WF804": ("cannot read {path}: {reason}", "check the path; OP is a name or file.py:name"),
        "WF826": ("{path} is not PTX: {reason}", "give the path of a text that begins with .version"),
        "WF829": (
            "{path} has no kernel to launch",
            "give a program with an .entry: nvcc makes one of a __global__ function",
        ),
        "WF830": (
            "{path} is no picture: its name must end in one of {known}",
            "write a name such as --plot picture.svg",
        ),
        "WF831": ("matplotlib, which draws the picture, was not found: {reason}", "python -m pip install matplotlib"),
    },
    TraceError: {
        "WF805": ("{path} does not import: {reason}{trail}", "make it run as a script first: python {path}"),
        "WF810": (
            "the function of {path} fails while it is traced: {reason}{trail}",
            "it runs on symbolic values: use operators and warpfold's functions on them",
        ),
    },
    BackendError: {
        "WF834": (
            "plans are timed on a GPU, and there is none",
            "run this where the calls will run; warpfold doctor says what a machine lacks",
        ),
    },
}
