"""WF7: the emulator."""

from __future__ import annotations

from ..kinds import EmulatorError, Entries

ENTRIES: Entries = {
    EmulatorError: {
        "WF701": ("PTX line {line}: '{text}': {problem}", "the emulator reads PTX as the assembler does; see the ISA"),
        "WF702": (
            "PTX line {line}: '{text}': unknown instruction {opcode!r}: "
            "expected one of the supported opcodes {supported}",
            "write an instruction of the PTX ISA; docs/ptx.md lists those that are run",
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
            "lanes {absent} of the membermask never reach this warp-wide instruction; {place}",
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
        "WF721": (
            "the emulator does not run {what}; {place}",
            "keep threads away from here on the emulator, or run the kernel on a GPU; docs/ptx.md lists what is run",
        ),
        "WF722": ("undefined: {problem}; {place}", "the ISA gives this no meaning: keep to what it expects"),
        "WF723": (
            "assertion failed: {message}, in {function} at {file}:{line}; {place}",
            "look at what the kernel asserts there",
        ),
        "WF724": (
            "PTX line {line}: '{text}': {problem}",
            "write loops in place of calls and blocks; docs/ptx.md says what the emulator bounds",
        ),
        "WF725": (
            "kernel {kernel!r} cannot be launched: expected at most {most} bytes of {what}, got {size}",
            "use less of it: a GPU has no more either",
        ),
        "WF726": ("{what} takes {needed} bytes, this machine has {have}", "use less memory"),
        "WF730": (
            "deadlock: {threads} wait forever, and no thread that can still run changes what they read, {read}; "
            "{others}; {place}",
            "let the thread that writes it get there: look at the address, at the value waited for, and at who waits",
        ),
        "WF731": (
            "deadlock: {threads} wait forever, and no thread that can still run changes what they read, {read}; "
            "{others}, and {later} of {ctas} CTAs have not begun: {resident} run at a time; {place}",
            "launch no more CTAs than run at a time, or let no CTA wait for one that may come later",
        ),
        "WF732": (
            "no end: {threads} loop forever, and no other thread sees what they do; {others}; {place}",
            "let the loop's condition depend on something that changes",
        ),
        "WF733": ("{seed!r} is no seed", "give a whole number from 0 on, or None for the plain schedule"),
    },
}
