"""The validity table of the IR refuses nodes that make no sense."""

from __future__ import annotations

import pytest

from checker.lang.frontend import compile_model
from checker.lang.graph import Graph
from checker.lang.interpret import check_nodes
from checker.lang.ir import Kind, Leaf, Node, Op
from checker.lang.loader import load


def made(graph: Graph, op: Op, *arguments: Node, kind: Kind) -> Node:
    return Node(op, arguments, None, kind, 0, 1, "", len(graph.nodes()))


def test_what_the_front_end_makes_is_valid() -> None:
    compile_model(load("kraft/twins"))  # checks every node


def test_an_operator_is_held_to_its_kinds() -> None:
    graph = Graph()
    number, truth = graph.integer(3), graph.true
    epoch = graph.leaf(0, Leaf("epoch", Kind.ORDINAL, sort="BrokerEpoch"))
    other = graph.leaf(1, Leaf("other", Kind.ORDINAL, sort="LeaderEpoch"))
    for wrong in (
        made(graph, Op.ADD, number, truth, kind=Kind.INT),
        made(graph, Op.ADD, epoch, epoch, kind=Kind.ORDINAL),
        made(graph, Op.LT, epoch, other, kind=Kind.BOOL),
        made(graph, Op.EQ, number, truth, kind=Kind.BOOL),
        made(graph, Op.NOT, truth, kind=Kind.INT),
        made(graph, Op.SELECT, truth, number, epoch, kind=Kind.INT),
    ):
        with pytest.raises(ValueError, match=f"{wrong.op.value} cannot take"):
            check_nodes([wrong])
    check_nodes([made(graph, Op.LT, epoch, epoch, kind=Kind.BOOL)])
