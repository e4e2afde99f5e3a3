"""lit's configuration: RUN lines of the ``.mlir`` files below, with this interpreter's warpfold-opt and filecheck.

Run by ``make lit``; one file: ``lit -v dialect_tests/passes/lower-warp-shuffle.mlir``.
"""

import sys
from pathlib import Path

from warpfold.compiler.target import DEFAULT
from warpfold.passes import PASSES, steps

sys.path.insert(0, str(Path(__file__).parent))
from forked import ForkedShTest

config.name = "warpfold"
config.test_format = ForkedShTest()
config.suffixes = {".mlir"}
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(Path(__file__).parent.parent / "build" / "lit")

# A test takes about a tenth of a second; one that hangs is stopped and says so (psutil does the stopping).
config.maxIndividualTestTime = 60

# This interpreter's own tools, whatever is first on PATH.
for tool, module in (("warpfold-opt", "warpfold.opt"), ("FileCheck", "filecheck")):
    config.substitutions.append((rf"(?<![\w/.-]){tool}(?![\w/.-])", f"{sys.executable} -m {module}"))

# %{through:NAME} is our passes up to and with NAME, %{ptx} the whole way; %{lines} prints a PTX string as lines.
NAMES = [p.name for p in PASSES]
for count, name in enumerate(NAMES, start=1):
    config.substitutions.append((rf"%\{{through:{name}\}}", ",".join(NAMES[:count])))
WHOLE = ",".join(step if isinstance(step, str) else step.name for _, step in steps(DEFAULT))
config.substitutions.append((r"%\{ptx\}", WHOLE))
config.substitutions.append((r"%\{lines\}", r"sed -e 's/\\0A/\n/g' -e 's/\\09/ /g'"))
