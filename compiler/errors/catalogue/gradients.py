"""WF9: gradients."""

from __future__ import annotations

from ..kinds import Entries, TraceError

ENTRIES: Entries = {
    TraceError: {
        "WF901": ("{what} has no gradient", "{remedy}"),
        "WF902": (
            "the vjp of monoid {name} gives {found} gradient(s): expected {expected}, one per folded value",
            "return a tuple with what each folded value gains, and None for one that gains nothing",
        ),
        "WF903": (
            "{name} returns {found} array(s), and gradients of {expected} are given",
            "say how many it returns: wf.vjp(function, results={found}), and pass as many gradients first; None stands "
            "for zeros",
        ),
        "WF904": (
            "{what} an array of floats: expected one to take the gradient by",
            "pass f64, f32, f16 or bf16; integers, bools, bits and 8-bit floats have no gradient",
        ),
        "WF905": (
            "the gradient of {what} has shape {found}: expected {expected}, the shape of that result",
            "pass the gradient as it comes from what uses the result, or stretch it: wf.broadcast_to(g, shape)",
        ),
        "WF906": (
            "the gradient of {what} is of type {found}: expected an array of floats, or None for zeros",
            "pass an array of the type of the result",
        ),
        "WF907": ("a gradient is given for {what}, of type {dtype}, which has none", "pass None in its place"),
        "WF908": (
            "backward got a {kind} as its last argument: expected what forward kept",
            "write value, kept = gradient.forward(x), and then gradient.backward(dy, kept)",
        ),
    },
}
