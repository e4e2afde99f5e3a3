"""WF4: plans and targets."""

from __future__ import annotations

from ..kinds import Entries, PlanError

ENTRIES: Entries = {
    PlanError: {
        "WF401": ("no target is called {arch!r}{near}: expected one of {known}", "{remedy}"),
        "WF402": ("a plan has no field {key!r}{near}: expected one of {known}", "write key=value,key=value"),
        "WF403": ("plan field {key} cannot be {value}: expected {expected}", "change or leave out the field"),
        "WF404": ("the plan needs {threads} threads a CTA: {arch} holds {limit}", "lower warps or warps_kept"),
        "WF405": (
            "the plan needs {needed} bytes of shared memory a CTA: {arch} gives {limit}",
            "lower warps, warps_kept or vector",
        ),
        "WF406": (
            "a blocked walk reads single elements along the reduced axis, but the plan has vector={vector}",
            "set vector=1, meet=steps, or walk=interleaved",
        ),
        "WF407": (
            "vector={vector} along the {axis} axis does not fit this layout: it needs {wanted}",
            "lower vector{other}",
        ),
        "WF408": ("finish=atomic is not exact for {name}: {why}", "{remedy}"),
        "WF409": ("{name} is not commutative: walk={walk} would reorder its elements", "use walk=blocked"),
        "WF410": (
            "no plan is called {name!r}{near}: expected one of {known}",
            "write a name, key=value,key=value, or a name and then what differs",
        ),
        "WF411": (
            "cta=shuffle exchanges registers, but the plan has exchange=global",
            "set exchange=shared, or another cta: serial, interleaved, sequential, warp_sync or unrolled",
        ),
        "WF412": (
            "coarsening={coarsening} says when more CTAs share a result, but finish=cta has one CTA a result",
            "set coarsening=0, or another finish: last_block, two_kernels or atomic",
        ),
        "WF413": (
            "a CTA takes whole unrolled steps: coarsening={coarsening} is less than unroll={unroll}",
            "lower unroll, or raise coarsening",
        ),
        "WF414": ("the plan has cluster={cluster}: {arch} has {has} CTAs", "set cluster={most}, or compile for sm_90a"),
        "WF415": (
            "walk={walk} fixes how the threads of a CTA are laid out: the plan has other extents",
            "set {change}, or walk=interleaved",
        ),
        "WF416": ("walk={walk} does not fit this layout: it needs {wanted}", "use walk=interleaved{more}"),
        "WF417": (
            "with tile_bytes={tile_bytes} one warp reads all elements of a result: the plan has several do so",
            "set fast=reduced, walk=interleaved, warps=1, cluster=1, cta=shuffle and finish=cta, or tile_bytes=0",
        ),
        "WF418": (
            "tile_bytes={tile_bytes} cannot hold the elements of a result: they are too far apart, or several runs of "
            "memory",
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
        "WF422": (
            "fast=both reads rows of kept and reduced elements as columns, and a second kernel reduces these: {found}",
            "reduce two dims around one kept one, which with the inner is one run in memory, with walk=interleaved, "
            "finish=two_kernels, cluster=1 and tile_bytes=0; or choose fast=reduced or fast=kept",
        ),
        "WF423": (
            "neither a CTA, a cluster nor the L2 cache can keep a row of {elements} elements of {name}",
            "leave the plan to warpfold, which then folds rows in a kernel of their own",
        ),
        "WF428": (
            "with tile_bytes={tile_bytes} threads read single elements into registers: the plan has other fields",
            "set {change}, or tile_bytes=0",
        ),
        "WF425": (
            "{name} reads its rows again, so that a CTA or a cluster owns each: {key}={value} is for other programs",
            "leave out {key}, or set {only}",
        ),
        "WF443": (
            "{name} scans its rows: a plan of a scan has {key}={only}, and not {value}",
            "leave out {key}; such plans have fast vector lanes warps warps_kept held tile_bytes unroll persistent",
        ),
        "WF426": (
            "resident={resident}: a row has {nbytes} bytes: a thread would keep {held} accesses, at most {most}",
            "give the row more threads (lanes, warps, cluster), or choose resident=memory",
        ),
        "WF427": (
            "{name} reads each element once, so that no row waits: {key}={value} is for rows that are read again",
            "leave out {key}",
        ),
        "WF430": (
            "lanes of {name} put words of bits together: {key}={value} is for other programs, expected {expected}",
            "leave out {key}",
        ),
        "WF432": ("no result of {name} is one of bits, so that no lanes make words: word={word}", "leave out word"),
        "WF431": (
            "rows of {name} do not begin at words of bits: their bits are {strides} apart",
            "compile the program for arrays of these sizes",
        ),
        "WF433": (
            "meet=mma is for sums of f16 and bf16 as f32, and sums and counts of bytes: {name} is another reduction",
            "leave out meet",
        ),
        "WF434": ("meet=mma: {arch} has no such instruction", "leave out meet, or compile for sm_80 or newer"),
        "WF435": (
            "meet=mma rounds sums as the tensor cores of a device do: those of {name} are to be portable",
            'leave out meet, or determinism="portable"',
        ),
        "WF436": ("meet={meet} needs other fields: {key}={value}, expected {expected}", "set {key}, or leave out meet"),
        "WF438": (
            "fragments=matrix turns columns that lie side by side, eight at a time from boundaries of 16 bytes: no "
            "array of {name} has such",
            "leave out fragments, or give it aligned arrays with a multiple of 8 columns",
        ),
        "WF439": (
            "fragments=matrix needs other fields: {key}={value}, expected {expected}",
            "set {key}, or leave out fragments",
        ),
        "WF440": (
            "fragments=matrix is for elements of 16 bits: the arrays of {name} have {types}",
            "leave out fragments",
        ),
        "WF441": (
            "fragments=matrix gives a lane elements from several places of a row: {name} needs {needs} of its elements",
            "leave out fragments",
        ),
        "WF442": (
            "rows of {name} begin anywhere, and a persistent CTA takes one at a time, or its columns would differ: "
            "{key}={value}, expected {expected}",
            "leave out {key}, or set persistent=0",
        ),
        "WF444": (
            "arrivals={arrivals} is for CTAs of a cluster: the plan has cluster=1",
            "leave out arrivals, or set cluster",
        ),
        "WF429": (
            "resident={resident}: rows that wait need {needed} bytes of shared memory a CTA: {arch} gives {limit}",
            "{remedy}, or choose resident=memory",
        ),
        "WF437": (
            "resident=grid: {name} has {needed}, whose CTAs wait for each other: {ctas} run at a time",
            "give a CTA more rows (lanes, warps_kept), or choose another residency; portable bits have no such plan",
        ),
        "WF424": (
            "the threads of a row keep {needed} access(es) each, and held={held} asks for another number",
            "leave out held: it follows from the row, vector, lanes, warps and cluster",
        ),
    },
}
