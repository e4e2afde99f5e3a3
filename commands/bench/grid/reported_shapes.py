"""Slow shapes that users of other libraries reported, as layouts of the grid.

A report gives a shape, or a class of shapes that one shape represents here. ``#`` is the number of an issue or a pull
request of the repository before it.
"""

from __future__ import annotations

from dataclasses import dataclass

Sizes = tuple[int, ...]
FLOATS_ONLY = ("mean", "var", "logsumexp")
"""Reductions whose time does not depend on memory for integers, which are first converted to f64."""


@dataclass(frozen=True)
class Report:
    """One layout.

    Attributes:
        issue: the report.
        shape, axes: the shape and the reduced axes.
        op: the reduction; empty for the sum, or any for bools.
        strides: strides in elements; None for a contiguous array.
        nth: the number of the layout within the report.
    """

    issue: str
    shape: Sizes
    axes: Sizes
    op: str = ""
    strides: Sizes | None = None
    nth: int = 1

    @property
    def name(self) -> str:
        return self.issue if self.nth == 1 else f"{self.issue}.{self.nth}"


REPORTS = (
    # Short rows.
    Report("cupy#8092", (1 << 20, 16), (1,)),
    Report("cupy#8092", (131_072, 128), (1,), nth=2),
    Report("cupy#10076", (1 << 18, 127), (1,)),
    Report("cccl#6171", (1 << 22, 16), (1,)),
    Report("cccl#11027", (1 << 21, 24), (1,)),
    Report("pytorch#18807", (1 << 24, 4), (1,)),
    Report("awkward#3814", (1 << 23, 3), (1,)),
    Report("awkward#4143", (1 << 23, 10), (1,)),
    # Few long rows.
    Report("cccl#2738", (1, 2_000_000), (1,)),
    Report("pytorch#9661", (2, 1 << 24), (1,)),
    Report("iree#20650", (1, 131_072), (1,), "argmax"),
    Report("TileOPs#2026", (4, 102_400), (1,)),
    Report("TileOPs#921", (8, 1 << 20), (1,)),
    # Outer, middle and transposed axes.
    Report("pytorch#181442", (640, 256), (1,), "mean", (1, 640)),
    Report("pytorch#196341", (65_536, 512), (0,)),
    Report("pytorch#167893", (10_000_000, 2, 2), (0, 1), strides=(2, 0, 1)),
    Report("pytorch#93718", (32, 1024, 1024), (1,), "logsumexp"),
    Report("cupy#2822", (256, 256, 512), (0, 1), strides=(1, 256, 65_536)),
    Report("cupy#2757", (256, 256, 512), (0,), strides=(1, 256, 65_536)),
    # Odd lengths.
    Report("iree#13050", (49_152, 702), (1,)),
    Report("iree#13050", (49_152, 704), (1,), nth=2),
    Report("llm.c#143", (1024, 50_257), (1,)),
    Report("ColossalAI#5488", (2048, 32_003), (1,)),
    Report("flaggems#4657", (16_384, 3000), (1,)),
    Report("triton#1966", (65_536, 1023), (1,)),
    Report("sglang#34727", (32_768, 1536), (1,)),
    Report("sglang#34727", (32_768, 2304), (1,), nth=2),
    Report("sglang#34727", (32_768, 2560), (1,), nth=3),
    # Rows longer than other kernels can keep on chip.
    Report("flash-attention#144", (8192, 8200), (1,), "var"),
    Report("apex#1199", (4096, 12_288), (1,), "var"),
    Report("LeetCUDA#390", (4096, 16_385), (1,)),
    Report("Megatron-LM#191", (32_768, 2049), (1,), "logsumexp"),
    Report("tokenspeed#310", (512, 131_072), (1,)),
    # Small types and predicates.
    Report("pytorch#36706", (1 << 27,), (0,), "sum"),
    Report("pytorch#55366", (1 << 26,), (0,), "sum"),
    Report("pytorch#23907", (1 << 26,), (0,), "count_nonzero"),
    Report("pytorch#31837", (1 << 14, 4096), (1,), "logsumexp"),
    Report("pytorch#8817", (1 << 25,), (0,), "argmax"),
    Report("onnxruntime#32092", (1, 202_048), (1,), "argmax"),
    # Sizes between which rules flip.
    Report("pytorch#188578", (1, 32_768), (1,)),
    Report("pytorch#188578", (1, 524_288), (1,), nth=2),
    Report("pytorch#188578", (1, 1 << 20), (1,), nth=3),
    Report("pytorch#188578", (1, 8 << 20), (1,), nth=4),
    Report("jax#18424", (1024, 256, 256), (0, 2)),
    Report("triton#3766", (65_536, 256), (1,)),
    Report("triton#3766", (4096, 12_672), (1,), nth=2),
)
"""Every report of slow shapes that was collected when this grid was made."""
