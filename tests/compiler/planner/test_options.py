"""The options of a plan: what gives way to them, what is refused, and how they are spelled."""

from __future__ import annotations

from dataclasses import replace

import pytest
from layouts import Layout
from tasks import simple, task_of, traced

from warpfold.compiler.dtypes import F32, dtype
from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.ladder import RUNGS, expand
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.layouts import staggered_columns
from warpfold.compiler.planner.limits import CTA_THREADS
from warpfold.compiler.program.analysis.atomic import exact
from warpfold.compiler.target import DEFAULT, TARGETS


@pytest.mark.parametrize(
    ("options", "kept", "gone"),
    [
        ("simple", ["lanes lie along"], ["CTAs share", "element(s) an access", "thread(s) a result", "finish="]),
        ("finish=two_kernels", ["lanes lie", "4 element(s)", "thread(s) a result", "CTAs share"], ["finish="]),
        ("warps=4", ["lanes lie", "4 element(s)"], ["thread(s) a result", "CTAs share"]),
        ("warps=8", ["lanes lie", "4 element(s)", "thread(s) a result", "CTAs share", "finish="], ["asked"]),
    ],
)
def test_reasons_that_options_invalidate_are_not_given(options: str, kept: list[str], gone: list[str]) -> None:
    choice = choose(simple("sum", (1 << 20,), (0,)), options)
    told = "\n".join([*choice.reasons, *(what for what, _ in choice.rejected)])
    told = "\n".join(line for line in told.splitlines() if not line.startswith("asked for: "))
    own = choose(simple("sum", (1 << 20,), (0,))).plan.to_dict()
    asked = ", ".join(f"{k}={v}" for k, v in choice.plan.to_dict().items() if v != own[k])
    assert [r for r in choice.reasons if r.startswith(("asked", "so"))] == ([f"asked for: {asked}"] if asked else [])
    assert [word for word in kept if word not in told] == []
    assert [word for word in gone if word in told] == []


def test_an_option_that_was_not_given_gives_way() -> None:
    """``walk=blocked`` alone works: the vectors that the planner chose are dropped, not refused."""
    task = simple("sum", (2**18,), (0,))
    own = choose(task).plan
    assert own.vector == 4
    wanted = Plan("reduced", "blocked", 1, own.unroll, 32, CTA_THREADS // 32, 1, finish="last_block")
    assert choose(task, "walk=blocked").plan == wanted
    assert choose(simple("sum", (64, 66), (1,)), "fast=kept").plan.vector == 1


def test_fields_that_gave_way_are_reported_apart_from_options() -> None:
    choice = choose(simple("sum", (2048, 8192), (0,)), "fast=reduced,lanes=32")
    assert choice.reasons == ["asked for: fast=reduced, lanes=32", "so also: vector=1, finish=cta"]


def test_one_cta_has_no_grid_stage_unless_it_was_asked_for() -> None:
    task = simple("sum", (2048, 8192), (0,))
    assert choose(task).plan.finish == "last_block"
    alone = choose(task, "fast=reduced,lanes=32")
    assert (alone.plan.finish, alone.run.split) == ("cta", 1)
    assert choose(task, "fast=reduced,lanes=32,finish=last_block").plan.finish == "last_block"
    for rung in RUNGS:
        if "finish" in expand(rung.name):
            assert choose(simple("sum", (64, 64), (1,), "i32"), rung.name).plan.finish == expand(rung.name)["finish"]


def test_coarsening_has_a_grid_stage_or_is_refused() -> None:
    plan = choose(simple("sum", (657, 14), (0,)), "walk=period,coarsening=4").plan
    assert (plan.walk, plan.coarsening, plan.finish) == ("period", 4, "last_block")
    with pytest.raises(PlanError, match="WF416: walk=period does not fit this layout"):
        choose(simple("sum", (600, 7), (1,)), "walk=period,coarsening=4")


@pytest.mark.parametrize(("what", "t"), [("logsumexp", "u8"), ("mean_var", "u8"), ("var", "f64"), ("sum", "f32")])
def test_staggered_warps_on_request_have_room_for_their_states(what: str, t: str) -> None:
    """Accesses become narrower, as where the planner chooses staggered warps."""
    task = simple(what, (1600, 1025), (0,), t)
    plan = choose(task, "walk=staggered").plan
    assert (plan.walk, plan.warps) == ("staggered", 8)
    assert plan.vector * task.state_registers <= staggered_columns.STATE_REGISTERS or plan.vector == 2


@pytest.mark.parametrize(
    ("shape", "axis", "options", "text"),
    [
        ((1000, 8), 0, "walk=period,vector=16", "WF421: vector=16 elements of 4 bytes are 64 bytes: .* at most 16"),
        ((600, 129), 0, "walk=staggered,vector=8", "WF421: vector=8 elements of 4 bytes are 32 bytes: .* at most 16"),
        ((100, 1000), 1, "tile_bytes=64", r"(?s)WF418: tile_bytes=64 cannot hold .*help: set tile_bytes=4096, or 0$"),
        ((1000, 8), 0, "tile_bytes=64", "(?s)WF418: .*help: set tile_bytes=0$"),
        ((100, 9000), 1, "tile_bytes=32768", "(?s)WF418: .*help: set tile_bytes=0$"),
    ],
)
def test_an_error_suggests_what_would_serve(shape: tuple[int, int], axis: int, options: str, text: str) -> None:
    with pytest.raises(PlanError, match=text):
        choose(simple("sum", shape, (axis,)), options)


@pytest.mark.parametrize(("what", "t", "vector"), [("affine", "i8", 4), ("sum", "i8", 2), ("sum", "f32", 2)])
def test_words_of_a_tile_need_narrow_elements_and_a_commutative_combine(what: str, t: str, vector: int) -> None:
    task = simple(what, (1000, 8), (1,), t)
    words = "rows of unit stride, elements of 1 or 2 bytes, 4 bytes of them at least, and a combine that commutes"
    with pytest.raises(PlanError, match=rf"WF407: vector={vector} .*: it needs {words}\n  help: lower vector$"):
        choose(task, f"tile_bytes=4096,vector={vector}" + ",walk=interleaved" * (what == "affine"))


def test_the_number_of_parts_follows_from_the_options() -> None:
    task = simple("sum", (2**18,), (0,))
    own = choose(task)
    assert own.run.split == 2**18 // own.plan.tile > 1
    assert choose(task, "unroll=1").run.split == 2**18 // (4 * CTA_THREADS)
    assert choose(task, "finish=cta").run.split == 1
    assert choose(simple("sum", (100,), (0,)), "finish=two_kernels").run.split == 1


@pytest.mark.parametrize("options", ["vector=4,fast=kept", " vector = 2, fast = kept"])
def test_a_vector_that_the_layout_lacks_is_refused(options: str) -> None:
    with pytest.raises(PlanError, match=r"WF407: vector=[24] along the kept axis does not fit this layout: it needs "):
        choose(simple("sum", (64, 4096), (1,)), options)


def test_an_atomic_whose_bits_would_depend_on_the_order_is_refused() -> None:
    with pytest.raises(
        PlanError, match=r"WF408: finish=atomic is not exact for .*: its result would depend on the order"
    ):
        choose(simple("sum", (4096,), (0,)), "finish=atomic")


@pytest.mark.parametrize(("what", "t"), [("max", "f64"), ("argmax", "i32"), ("var", "f32"), ("any", "bool")])
def test_a_monoid_without_an_atomic_is_refused(what: str, t: str) -> None:
    with pytest.raises(
        PlanError, match=r"WF408: finish=atomic is not exact for .*: no atomic instruction combines its states"
    ):
        choose(simple(what, (4096,), (0,), t), "finish=atomic")


@pytest.mark.parametrize(("what", "t"), [("sum", "i32"), ("max", "i64"), ("min", "u32"), ("sum", "bool")])
def test_an_atomic_on_one_integer_is_exact(what: str, t: str) -> None:
    choice = choose(simple(what, (2**16,), (0,), t), "finish=atomic")
    assert choice.plan.finish == "atomic"
    assert choice.run.split > 1


def test_bools_products_and_floats_have_no_atomic() -> None:
    graphs = [traced(w, dtype(t)).reduces[0].value for w, t in (("any", "bool"), ("prod", "i32"), ("sum", "f32"))]
    assert not any(exact(g) for g in graphs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("wraps=2", "WF402: a plan has no field 'wraps' .did you mean warps"),
        ("warps=3", "WF403: plan field warps cannot be 3"),
        ("vector=3", "WF403: plan field vector cannot be '3': expected a power of two from 1 to 16"),
        ("unroll=64", "WF403: plan field unroll cannot be '64': expected a power of two from 1 to 32"),
        ("lanes=64", "WF403: plan field lanes cannot be '64': expected a power of two from 1 to 32"),
        ("fast=diagonal", "WF403: plan field fast cannot be 'diagonal'"),
        ("finish=", "WF403: plan field finish cannot be ''"),
        ("warps=32,warps_kept=2", "WF404: the plan needs 2048 threads"),
        ("walk=blocked,vector=4", "WF406: a blocked walk"),
        ("cta=butterfly", "WF403: plan field cta cannot be 'butterfly': expected one of shuffle serial interleaved"),
        ("exchange=local", "WF403: plan field exchange cannot be 'local': expected one of shared global"),
        ("coarsening=3", "WF403: plan field coarsening cannot be '3': expected 0, or a power of two from 1 to 1024"),
        ("cluster=32", "WF403: plan field cluster cannot be '32': expected a power of two from 1 to 16"),
        ("simpel", "WF410: no plan is called 'simpel' .did you mean simple..: expected one of serial simple"),
        ("exchange=global", "WF411: cta=shuffle exchanges registers"),
        ("coarsening=2,finish=cta", "WF412: coarsening=2 says when more CTAs share a result"),
        ("coarsening=2,unroll=4", "WF413: a CTA takes whole unrolled steps: coarsening=2 is less than unroll=4"),
    ],
)
def test_options_that_no_plan_can_have_are_refused(options: str, text: str) -> None:
    with pytest.raises(PlanError, match=text):
        choose(simple("sum", (64, 4096), (1,)), options)


def test_vectors_wider_than_an_access_are_refused() -> None:
    """The layout has such vectors: contiguous rows of 1024 elements at an aligned address."""
    task = simple("sum", (4096, 1024), (1,))
    with pytest.raises(PlanError, match="WF421: vector=8 elements of 4 bytes are 32 bytes: an access takes at most 16"):
        choose(task, "vector=8")
    with pytest.raises(PlanError, match="WF421: vector=8 elements of 4 bytes are 32 bytes: an access takes at most 16"):
        choose(task, "vector=8,tile_bytes=8192")


def test_too_much_shared_memory_is_refused_with_the_size() -> None:
    task = simple("powers", (4096, 64), (0,), "f64")
    with pytest.raises(PlanError, match=r"WF405: the plan needs \d+ bytes of shared memory a CTA: sm_90a gives 49152"):
        choose(task, "warps=32,warps_kept=1")


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_a_float_atomic_is_for_those_who_need_no_fixed_order(t: str) -> None:
    task = replace(simple("sum", (2**18,), (0,), t), determinism="none")
    assert choose(task).plan.finish == "last_block"
    assert choose(task, "finish=atomic").plan.finish == "atomic"
    for determinism in ("run", "portable"):
        with pytest.raises(
            PlanError, match=r'WF408: .*\n(.*\n)*.*or finish=two_kernels, or determinism="none" in Python'
        ):
            choose(replace(task, determinism=determinism), "finish=atomic")


@pytest.mark.parametrize(("what", "t"), [("max", "f32"), ("prod", "f64"), ("var", "f32"), ("argmax", "f32")])
def test_a_monoid_without_an_atomic_has_none_in_any_order(what: str, t: str) -> None:
    task = replace(simple(what, (2**16,), (0,), t), determinism="none")
    with pytest.raises(PlanError, match="WF408") as caught:
        choose(task, "finish=atomic")
    assert "determinism" not in caught.value.remedy


@pytest.mark.parametrize(("n", "parts"), [(1, 1), (2048, 1), (2049, 2), (2**22, 2048), (2**28, 65535)])
def test_a_plan_that_coarsens_says_how_many_ctas_share_a_result(n: int, parts: int) -> None:
    """2 accesses for each of 1024 threads, on a machine of any size; a grid has 65535 CTAs along the reduced axis."""
    options = "lanes=32,warps=32,warps_kept=1,vector=1,unroll=1,cta=sequential,coarsening=2,finish=two_kernels"
    for sms in (1, 132):
        choice = choose(replace(simple("sum", (n,), (0,)), sms=sms), options)
        assert choice.run.split <= parts
        assert choice.run.chunk >= -(-n // parts)
        assert (choice.run.split == parts) or n > 2**22
        assert n > 2**22 or choice.run.chunk <= 2048


def test_chosen_fields_give_way_to_coarsening() -> None:
    plan = choose(simple("sum", (4096,), (0,)), "coarsening=1").plan
    assert (plan.coarsening, plan.unroll, plan.finish) == (1, 1, "last_block")


@pytest.mark.parametrize(
    ("n", "options", "finish", "split"),
    [
        (5, "cluster=8", "cta", 8),
        (2**16, "cluster=8,warps=16", "cta", 8),
        (2**16, "cluster=2,warps=16", "last_block", 8),
        (2**20, "cluster=8,finish=cta", "cta", 8),
        (2**16, "cluster=8,warps=16,unroll=2,coarsening=8", "last_block", 8),
        (65528 * 256, "cluster=8,warps=8,vector=1,unroll=1,coarsening=1", "last_block", 65528),
        (65535 * 256, "cluster=8,warps=8,vector=1,unroll=1,coarsening=1", "last_block", 32768),
    ],
)
def test_one_requested_cluster_reduces_all_where_it_is_enough(n: int, options: str, finish: str, split: int) -> None:
    """The grid is one of whole clusters, and no longer than a grid can be."""
    choice = choose(simple("sum", (n,), (0,)), options)
    assert (choice.plan.finish, choice.run.split) == (finish, split)


def test_a_target_without_clusters_is_refused() -> None:
    with pytest.raises(PlanError, match="WF414: the plan has cluster=2: sm_89 has no clusters of CTAs"):
        choose(replace(simple("sum", (2**16,), (0,)), target=TARGETS["sm_89"]), "cluster=2")


def test_warps_give_way_to_what_a_cluster_gathers() -> None:
    """40 doubles a state, for 8 results: a second round needs as many as one CTA's warps leave."""
    task = simple("powers", (2**16,), (0,))
    found = {n: choose(task, f"cluster={n},lanes=4").plan.warps for n in (2, 8)}
    assert found == {2: 4, 8: 2}


def test_warps_give_way_to_what_a_cta_exchanges() -> None:
    """40 doubles a state: 1024 threads exchange them in global memory, in shared memory fewer do."""
    task = simple("powers", (2**16,), (0,))
    assert choose(task, "simple").plan.warps == 32
    assert choose(task, "shared").plan.warps < 32
    with pytest.raises(PlanError, match="WF405: the plan needs"):
        choose(task, "shared,warps=32")


def test_partials_of_a_plan_that_coarsens_may_need_64_bits() -> None:
    """Every element of a broadcast array is the same, but each CTA of each result stores a state."""
    layout = Layout((2**20, 2**22), (1,), ((0, 0),), ((1,),))
    task = task_of(traced("sum", F32), layout, (0, 0), DEFAULT, 132)
    assert choose(task).facts.index_bits == 32
    assert choose(task, "coarsening=2,vector=1,unroll=1,warps=32,warps_kept=1").facts.index_bits == 64


@pytest.mark.parametrize(
    ("options", "extents"), [("warps=8", (8, 4)), ("warps=32", (32, 1)), ("warps_kept=32", (1, 32))]
)
def test_chosen_warps_give_way_to_requested_ones(options: str, extents: tuple[int, int]) -> None:
    """A CTA has at most 1024 threads; the planner's own warps_kept=8 would leave four warps a result."""
    task = simple("sum", (300_000, 20), (1,))
    assert choose(task).plan.warps_kept == 8
    found = choose(task, options).plan
    assert (found.warps, found.warps_kept) == extents
