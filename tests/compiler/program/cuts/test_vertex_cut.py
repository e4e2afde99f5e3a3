"""The cheapest separating nodes are those that trying all sets finds."""

from __future__ import annotations

import itertools
import random

from warpfold.compiler.program.cuts.vertex_cut import vertex_cut


def _separates(chosen: set[int], edges: list[tuple[int, int]], sources: list[int], sinks: list[int]) -> bool:
    reached = {s for s in sources if s not in chosen}
    for a, b in sorted(edges):
        if a in reached and b not in chosen:
            reached.add(b)
    return not reached.intersection(sinks)


def test_a_value_is_chosen_above_its_operands() -> None:
    edges = [("sum", "mean"), ("count", "mean"), ("mean", "y")]
    weights = dict.fromkeys(("sum", "count", "mean"), 4)
    assert vertex_cut(["sum", "count", "mean", "y"], edges, weights, ["sum", "count"], ["y"]) == ["mean"]


def test_one_operand_is_chosen_below_several_users() -> None:
    edges = [("s", "a"), ("s", "b"), ("a", "y"), ("b", "y")]
    assert vertex_cut(["s", "a", "b", "y"], edges, dict.fromkeys(("s", "a", "b"), 4), ["s"], ["y"]) == ["s"]


def test_a_narrow_value_is_chosen_before_a_wide_one() -> None:
    assert vertex_cut(["s", "y"], [("s", "y")], {"s": 8, "y": 4}, ["s"], ["y"]) == ["y"]


def test_of_equal_sets_the_one_nearest_to_the_sinks_is_chosen() -> None:
    assert vertex_cut(["s", "a", "y"], [("s", "a"), ("a", "y")], {"s": 4, "a": 4}, ["s"], ["y"]) == ["a"]


def test_random_graphs_are_cut_at_least_weight() -> None:
    rng = random.Random(7)
    for _ in range(200):
        n = rng.randint(2, 8)
        edges = [(a, b) for a, b in itertools.combinations(range(n), 2) if rng.random() < 0.4]
        sources, sinks = [0, *range(1, rng.randint(1, 2))], [n - 1]
        weights = {i: rng.randint(1, 9) for i in range(n) if i in sources or rng.random() < 0.6}
        found = vertex_cut(list(range(n)), edges, weights, sources, sinks)
        assert _separates(set(found), edges, sources, sinks)
        sets = (set(c) for k in range(len(weights) + 1) for c in itertools.combinations(weights, k))
        best = min(sum(weights[i] for i in c) for c in sets if _separates(c, edges, sources, sinks))
        assert sum(weights[i] for i in found) == best
