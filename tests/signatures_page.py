"""The page docs/signatures.md: our functions beside those of NumPy, SciPy, PyTorch and JAX, by position.

``python tests/signatures_page.py`` reads the signatures of the libraries that are there into
``data/peer_signatures.json``, and writes the page from that file; ``tests/test_signatures.py`` compares both, and makes
the calls.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import warpfold as wf
from warpfold.compiler.program.library.reductions import FUNCTIONS
from warpfold.compiler.program.public_names import COMPOSITIONS, ELEMENTWISE, PROGRAMS

PAGE = Path(__file__).parent.parent / "docs" / "signatures.md"
DATA = Path(__file__).parent / "data" / "peer_signatures.json"
LIBRARIES = {"numpy": "NumPy", "scipy": "SciPy", "torch": "PyTorch", "jax": "JAX"}
HEAD = """\
# Signatures

`python tests/signatures_page.py` writes this page: our functions beside those of NumPy, SciPy, PyTorch and JAX, with
the parameters that each takes by position. A function here refuses by position what it does not name there, and the
error says what to write. A test makes the calls of the other libraries that give arguments by position: a result is
theirs, or the call ends in such an error. What we call `axis` and `keepdims` is `dim` and `keepdim` in PyTorch.

"""
ELSEWHERE: dict[str, tuple[str, ...]] = {
    "norm": ("numpy.linalg.norm", "scipy.linalg.norm", "torch.linalg.vector_norm", "jax.numpy.linalg.norm"),
    "vecdot": ("numpy.vecdot", "torch.linalg.vecdot", "jax.numpy.vecdot"),
    "logsumexp": ("scipy.special.logsumexp", "torch.logsumexp", "jax.nn.logsumexp"),
    "array_equal": ("numpy.array_equal", "torch.equal", "jax.numpy.array_equal"),
    "minmax": ("torch.aminmax",), "mean_var": ("torch.var_mean",), "describe": ("scipy.stats.describe",),
    "min": ("numpy.min", "torch.amin", "jax.numpy.min"), "max": ("numpy.max", "torch.amax", "jax.numpy.max"),
    "clip": ("numpy.clip", "torch.clamp", "jax.numpy.clip"), "cast": ("numpy.astype", "jax.numpy.astype"),
    "bitcast": ("jax.lax.bitcast_convert_type",), "erf": ("scipy.special.erf", "torch.erf", "jax.lax.erf"),
    "sigmoid": ("scipy.special.expit", "torch.sigmoid", "jax.nn.sigmoid"), "rsqrt": ("torch.rsqrt", "jax.lax.rsqrt"),
    "fma": (), "histogram": ("numpy.histogram", "torch.histogram", "jax.numpy.histogram"),
    "segment_reduce": ("torch.segment_reduce", "jax.ops.segment_sum"), "scan": ("jax.lax.scan",),
    "reduce": ("jax.lax.reduce",), "pack": ("numpy.packbits",), "unpack": ("numpy.unpackbits",),
    "vjp": ("torch.func.vjp", "jax.vjp"), "value_and_grad": ("jax.value_and_grad",),
    "softmax": ("scipy.special.softmax", "torch.softmax", "jax.nn.softmax"),
    "log_softmax": ("scipy.special.log_softmax", "torch.log_softmax", "jax.nn.log_softmax"),
    "topk": ("torch.topk", "jax.lax.top_k"), "leaky_relu": ("torch.nn.functional.leaky_relu", "jax.nn.leaky_relu"),
    "relu": ("torch.nn.functional.relu", "jax.nn.relu"), "standardize": ("jax.nn.standardize",),
    "random_bits": ("jax.random.bits",), "quantize": ("torch.quantize_per_tensor",),
    "cumulative_sum": ("numpy.cumulative_sum", "torch.cumsum", "jax.numpy.cumulative_sum"),
    "cumulative_prod": ("numpy.cumulative_prod", "torch.cumprod", "jax.numpy.cumulative_prod"),
    "cummax": ("torch.cummax",), "cummin": ("torch.cummin",), "logcumsumexp": ("torch.logcumsumexp",),
}  # fmt: skip
"""The functions of other libraries for those of ours that have another name there, or are in another module."""
FUNCTIONAL = ("softmin", "layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm", "normalize",
              "cross_entropy", "nll_loss", "dropout")  # fmt: skip
"""Functions of ``torch.nn.functional`` under their own names."""
OTHERS = (
    "bincount",
    "histogram",
    "unique",
    "segment_reduce",
    "scan",
    "reduce",
    "pack",
    "unpack",
    "vjp",
    "value_and_grad",
)
"""Functions of arrays that are in no table of names."""
SAME = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "epsilon": "eps", "ddof": "correction", "a_min": "low",
        "a_max": "high", "min": "low", "max": "high", "dtype": "dtype"}  # fmt: skip
"""Names of other libraries for parameters of ours."""


DIFFERENT: dict[tuple[str, str], str] = {
    ("var", "torch.var"): "without `correction=` PyTorch divides by n - 1, and NumPy, JAX and `var` by n",
    ("std", "torch.std"): "as `var`",
    ("mean_var", "torch.var_mean"): "PyTorch has the variance first, and divides by n - 1",
    ("describe", "scipy.stats.describe"): "SciPy goes along axis 0, and divides by n - 1",
    ("softmax", "scipy.special.softmax"): "without an axis SciPy takes all of them; JAX and `softmax` the last one",
    ("log_softmax", "scipy.special.log_softmax"): "as `softmax`",
    ("norm", "scipy.linalg.norm"): "an order of a matrix is that of a norm of matrices; `norm` takes all elements",
    ("norm", "numpy.linalg.norm"): "as SciPy's",
    ("norm", "jax.numpy.linalg.norm"): "as SciPy's",
    ("minmax", "torch.aminmax"): "PyTorch has `dim` by name alone",
    ("dot", "numpy.dot"): "of arrays of rank 2 NumPy and JAX make a product of matrices; `dot` refuses them",
    ("histogram", "torch.histogram"): "PyTorch's counts are floats",
    ("cummax", "torch.cummax"): 'PyTorch gives the places, too: `scan(x, "argmax", axis)`',
    ("cummin", "torch.cummin"): "as `cummax`",
    ("pack", "numpy.packbits"): "8 bits in a byte, the first highest; `pack` has 32 in a word, the first lowest",
    ("unpack", "numpy.unpackbits"): "as `pack`",
    ("bitcast", "jax.lax.bitcast_convert_type"): "JAX also takes types of other widths",
    ("dropout", "torch.nn.functional.dropout"): "PyTorch draws from its own generator; `dropout` wants a `seed=`",
    ("quantize", "torch.quantize_per_tensor"): "PyTorch is given the scale; `quantize` finds it",
    ("scan", "jax.lax.scan"): "JAX's function comes first, and carries any state",
    ("reduce", "jax.lax.reduce"): "JAX takes an initial value and a function; `reduce` a monoid",
    ("random_bits", "jax.random.bits"): "JAX takes a key and a shape; `random_bits` an array of the shape, and a seed",
    ("segment_reduce", "torch.segment_reduce"): "PyTorch has offsets or lengths by name",
    ("segment_reduce", "jax.ops.segment_sum"): "JAX takes the number of each element's segment: `ids=` here",
    ("vjp", "jax.vjp"): "JAX takes the arrays at once; the result of `vjp` takes the gradient, and then the arrays",
    ("vjp", "torch.func.vjp"): "as JAX's",
    ("value_and_grad", "jax.value_and_grad"): "JAX has one argument of which the gradient is taken; `wrt=` names them",
    ("array_equal", "torch.equal"): "PyTorch's result is a bool of Python",
    ("relu", "torch.nn.functional.relu"): "PyTorch's `inplace` is `out=x` here",
    ("leaky_relu", "torch.nn.functional.leaky_relu"): "as `relu`",
}  # fmt: skip
"""What other libraries mean by the same arguments, where it is something else."""


class Peer(NamedTuple):
    """A function of another library.

    Attributes:
        path: its name, with that of the library and the module.
        by_position: the parameters that it takes by position.
    """

    path: str
    by_position: tuple[str, ...]

    @property
    def library(self) -> str:
        return self.path.partition(".")[0]


def ours() -> list[str]:
    """The functions of the table, in its order."""
    return [*FUNCTIONS, *OTHERS, *sorted((*ELEMENTWISE, *COMPOSITIONS, "cast")), *PROGRAMS]


def by_position(name: str) -> list[str]:
    """The parameters that our function takes by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = inspect.signature(getattr(wf, name)).parameters.values()
    return [p.name if p.kind in kinds else f"*{p.name}" for p in found if p.kind in (*kinds, p.VAR_POSITIONAL)]


def peers_of(name: str, data: Mapping[str, Any]) -> Iterator[Peer]:
    """The functions of other libraries that stand beside ours."""
    paths = ELSEWHERE.get(name) or ((f"torch.nn.functional.{name}",) if name in FUNCTIONAL else ())
    if name not in ELSEWHERE and not paths:
        paths = (f"numpy.{name}", f"torch.{name}", f"jax.numpy.{name}")
    for path in paths:
        if path in data["functions"]:
            yield Peer(path, tuple(data["functions"][path]))


# --- what the libraries say ------------------------------------------------------------------------------------------
def found(path: str) -> Any:
    """The function of this name; None where its library, or it in the library, is not there."""
    parts = path.split(".")
    for n in range(len(parts) - 1, 0, -1):
        try:
            return reduce(getattr, parts[n:], import_module(".".join(parts[:n])))
        except (ImportError, AttributeError):
            continue
    return None


def _read(path: str) -> list[str] | None:
    """The parameters by position of a function that is there."""
    function = found(path)
    if function is None:
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        own = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        own = ()  # type: ignore[assignment]
    if any(p.kind in kinds for p in own):
        return [p.name for p in own if p.kind in kinds and not p.name.startswith("_")]
    if path.startswith("torch."):
        return _of_torch(path)
    return [f"x{i}" for i in range(1, function.nin + 1)] if hasattr(function, "nin") else None


def _of_torch(path: str) -> list[str] | None:
    """The overload of an operator of PyTorch that takes most arguments by position."""
    import torch

    name = "_".join(path.split(".")[1:]).replace("nn_functional_", "")
    overloads = [
        ["input" if a.name == "self" else a.name for a in schema.arguments if not a.kwarg_only]
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}")
        if not {"out", "name"} & {*schema.overload_name.split("_")}
        and schema.overload_name not in ("out", "names_out")
        and str(schema.arguments[0].type) == "Tensor"
    ]
    return max(overloads, key=len, default=None)


def read(old: Mapping[str, Any]) -> dict[str, Any]:
    """The signatures of the libraries that are there, and what ``old`` has of the others."""
    data: dict[str, Any] = {"versions": dict(old["versions"]), "functions": {}}
    for library in LIBRARIES:
        if (module := found(f"{library}.__version__")) is not None:
            data["versions"][library] = module.partition("+")[0]
    for name in ours():
        paths = ELSEWHERE.get(name) or ((f"torch.nn.functional.{name}",) if name in FUNCTIONAL else ())
        if name not in ELSEWHERE and not paths:
            paths = (f"numpy.{name}", f"torch.{name}", f"jax.numpy.{name}")
        for path in paths:
            own = _read(path)
            if own is None and path in old["functions"] and path.partition(".")[0] not in sys.modules:
                own = old["functions"][path]
            if own is not None:
                data["functions"][path] = own
    return data


# --- the page --------------------------------------------------------------------------------------------------------
def refused(name: str, peer: Peer) -> list[str]:
    """What a function of another library takes by position, and ours by name, or not at all."""
    own, first = by_position(name), len(_arrays(name))
    theirs = [SAME.get(p, p) for p in peer.by_position]
    return [p for i, p in enumerate(theirs) if i >= first and (i >= len(own) or own[i] != p)]


def _arrays(name: str) -> list[str]:
    """The leading parameters of ours that must be given."""
    kinds = inspect.signature(getattr(wf, name)).parameters
    return [p for p in by_position(name) if p in kinds and kinds[p].default is inspect.Parameter.empty]


def table(data: Mapping[str, Any]) -> list[str]:
    """A row for each function that another library has."""
    lines = [f"| warpfold | {' | '.join(LIBRARIES.values())} | by position there, refused here |", "|---" * 6 + "|"]
    for name in ours():
        peers = list(peers_of(name, data))
        if not peers:
            continue
        calls = [(p.library, f"`{p.path.partition('.')[2]}({', '.join(p.by_position)})`") for p in peers]
        cells = [", ".join(call for library, call in calls if library == own) for own in LIBRARIES]
        names = list(dict.fromkeys(p for peer in peers for p in refused(name, peer)))
        lines.append(
            f"| `{name}({', '.join(by_position(name))})` | {' | '.join(cells)} | {' '.join(f'`{p}`' for p in names)} |"
        )
    return lines


def page() -> str:
    """The whole page."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    versions = ", ".join(f"{LIBRARIES[name]} {version}" for name, version in data["versions"].items())
    different = [f"- `{name}` and `{path}`: {text}." for (name, path), text in DIFFERENT.items()]
    signed = f"The signatures are those of {versions}."
    return HEAD + "\n".join([*table(data), "", signed, "", "## Other meanings", "", *different, ""])


if __name__ == "__main__":
    saved = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {"versions": {}, "functions": {}}
    DATA.write_text(json.dumps(read(saved), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
