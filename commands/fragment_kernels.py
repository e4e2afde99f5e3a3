"""The kernels that ``warpfold fragments`` runs: one warp, in the ops of the dialect, lowered by the passes."""

from __future__ import annotations

NAME = "fragments"
PRODUCT = (16, 16, 8)
"""Rows of the first factor, its columns, and columns of the second factor."""

EDGE = 8
"""Rows of a block, and its columns of 16-bit elements."""


def access(instruction: str, blocks: int, *, transposed: bool) -> str:
    """A kernel of arguments x and y, of 64 16-bit elements a block.

    ``ldmatrix``: x goes to a tile, and the registers of each lane to y. ``stmatrix``: the other way.
    """
    words, count = 32 * blocks, 2 * blocks
    how = f"{{blocks = {blocks}, transposed = {str(transposed).lower()}}}"
    fragment = f"vector<{count}xi16>"
    load = f"""
      {_copied("x", 1, "tile", 3, blocks)}
      gpu.barrier
      %v = "fold.matrix_load"(%tile, %row) {how} : (!llvm.ptr<3>, i32) -> {fragment}
      {_kept("v", "y", fragment)}"""
    store = f"""
      %from = llvm.getelementptr %x[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {fragment}
      %v = llvm.load %from {{alignment = 4 : i64}} : !llvm.ptr<1> -> {fragment}
      "fold.matrix_store"(%v, %tile, %row) {how} : ({fragment}, !llvm.ptr<3>, i32) -> ()
      gpu.barrier
      {_copied("tile", 3, "y", 1, blocks)}"""
    return _kernel(["x", "y"], {"tile": words}, load if instruction == "ldmatrix" else store)


def product() -> str:
    """A kernel of arguments x, y, a, b and d: the product of x, 16x16, and y, 16x8, of bf16.

    The registers of both factors go to a and b, and those of the product to d.
    """
    body = f"""
      {_copied("x", 1, "first", 3, 4)}
      {_copied("y", 1, "second", 3, 2)}
      gpu.barrier
      // Four blocks of x: rows 0 to 7, rows 8 to 15, then the right half of both.
      %fifteen = arith.constant 15 : i32
      %four = arith.constant 4 : i32
      %row_of_x = arith.andi %lane, %fifteen : i32
      %half = arith.shrui %lane, %four : i32
      %begin = arith.muli %row_of_x, %width : i32
      %right = arith.muli %half, %eight : i32
      %at_x = arith.addi %begin, %right : i32
      %a_block = "fold.matrix_load"(%first, %at_x) {{blocks = 4, transposed = false}}
        : (!llvm.ptr<3>, i32) -> vector<8xbf16>
      %b_block = "fold.matrix_load"(%second, %row) {{blocks = 2, transposed = true}}
        : (!llvm.ptr<3>, i32) -> vector<4xbf16>
      %a_words = vector.bitcast %a_block : vector<8xbf16> to vector<4xi32>
      %b_words = vector.bitcast %b_block : vector<4xbf16> to vector<2xi32>
      {_words("a", 4)}
      {_words("b", 2)}
      %zero = arith.constant 0.0 : f32
      %product = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%zero, %zero, %zero, %zero]
        {{multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>,
        layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>}}
        : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
      {_parts("product", "d", 4)}
      %d_value = vector.from_elements %d0, %d1, %d2, %d3 : vector<4xf32>
      {_kept("a_words", "a", "vector<4xi32>")}
      {_kept("b_words", "b", "vector<2xi32>")}
      {_kept("d_value", "d", "vector<4xf32>")}"""
    return _kernel(["x", "y", "a", "b", "d"], {"first": 128, "second": 64}, body)


def _kernel(arguments: list[str], tiles: dict[str, int], body: str) -> str:
    """A kernel of one warp with tiles of so many words; %row is the first element of row l of a tile of 8 columns."""
    shared = "{addr_space = 3 : i32, alignment = 16 : i64}"
    declared = "\n".join(
        f"llvm.mlir.global internal @{name}_tile() {shared} : !llvm.array<{n} x i32>" for name, n in tiles.items()
    )
    found = "\n".join(f"%{name} = llvm.mlir.addressof @{name}_tile : !llvm.ptr<3>" for name in tiles)
    return f"""gpu.module @device attributes {{fold.target = "sm_90a"}} {{
    {declared}
    gpu.func @{NAME}({", ".join(f"%{a}: !llvm.ptr<1>" for a in arguments)}) kernel
        attributes {{known_block_size = array<i32: 32, 1, 1>}} {{
      {found}
      %thread = gpu.thread_id x
      %lane = arith.index_cast %thread : index to i32
      %eight = arith.constant 8 : i32
      %width = arith.constant 16 : i32
      %row = arith.muli %lane, %eight : i32
      {body}
      gpu.return
    }}
  }}"""


def _copied(source: str, source_space: int, to: str, space: int, blocks: int) -> str:
    """Lane l moves row l, of 16 bytes, where there is one."""
    a, b, row = f"!llvm.ptr<{source_space}>", f"!llvm.ptr<{space}>", "vector<4xi32>"
    n = f"{source}_{to}"
    return f"""
      %rows_{n} = arith.constant {EDGE * blocks} : i32
      %is_row_{n} = arith.cmpi slt, %lane, %rows_{n} : i32
      scf.if %is_row_{n} {{
        %from_{n} = llvm.getelementptr %{source}[%lane] : ({a}, i32) -> {a}, {row}
        %to_{n} = llvm.getelementptr %{to}[%lane] : ({b}, i32) -> {b}, {row}
        %row_{n} = llvm.load %from_{n} {{alignment = 16 : i64}} : {a} -> {row}
        llvm.store %row_{n}, %to_{n} {{alignment = 16 : i64}} : {row}, {b}
      }}"""


def _kept(value: str, to: str, t: str) -> str:
    """Writes the lane's fragment to an array of fragments."""
    return f"""
      %kept_{to} = llvm.getelementptr %{to}[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {t}
      llvm.store %{value}, %kept_{to} {{alignment = 4 : i64}} : {t}, !llvm.ptr<1>"""


def _words(name: str, count: int) -> str:
    return "\n".join(
        f"%{name}{k} = vector.extract %{name}_words[{k}] : i32 from vector<{count}xi32>" for k in range(count)
    )


def _parts(source: str, name: str, count: int) -> str:
    t = ", ".join(["f32"] * count)
    return "\n".join(f"%{name}{k} = llvm.extractvalue %{source}[{k}] : !llvm.struct<({t})>" for k in range(count))
