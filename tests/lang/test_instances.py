"""One spec file, several instances: each with constants, types and states of its own."""

from __future__ import annotations

import pickle
import textwrap
from pathlib import Path

import pytest

from checker.lang.errors import SpecError
from checker.lang.frontend import compile_model
from checker.lang.loader import BoundModel, load
from tests.conftest import ROOT

QUEUE = (ROOT / "tests" / "models" / "queue.py").read_text(encoding="utf-8")
INSTANCES = str(ROOT / "tests" / "models" / "queue_instances.py")
HEAD = """\
from typing import Annotated, Any

from checker.lang import *


@constants
class Design:
    size: int = 2
    "How large a queue is."


class Word(Identity, size=2): ...


"""


def loaded(folder: Path, text: str, changes: dict[str, str] | None = None, model: str = "") -> BoundModel:
    """The model of a spec beside `queue.py`, bound."""
    (folder / "queue.py").write_text(QUEUE, encoding="utf-8")
    (folder / "user.py").write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
    return load(f"{folder / 'user.py'}{model}", changes)


TWO = """
    few = instance("queue.py", capacity=1)
    many = instance("queue.py", capacity=lambda: Design.size * 2, Value=Word)
    MODELS = [
        Model("few", "-", few.empty, [few.put, few.take], []),
        Model("many", "-", many.empty, [many.put, many.take], []),
    ]
"""


def test_instances_share_no_constants_types_or_states(tmp_path: Path) -> None:
    many = loaded(tmp_path, TWO, {"size": "3"}, "/many")
    module = many.spec.module
    assert (module.few.Queueing.capacity, module.many.Queueing.capacity) == (1, 6)
    assert many.constants == {"size": 3}
    assert module.few.Value is not module.many.Value is module.Word
    assert many.state_type.width == 7
    few = loaded(tmp_path, TWO, model="/few")
    assert few.state_type.width == 2
    assert (few.spec.module.few.Queueing.capacity, few.spec.module.many.Queueing.capacity) == (1, 4)
    other = load(str(tmp_path / "queue.py"), {"capacity": "5"})
    assert (other.state_type.width, few.spec.module.few.Queueing.capacity) == (6, 1)


def test_each_is_a_model_of_its_own_to_the_cache(tmp_path: Path) -> None:
    keys = {loaded(tmp_path, TWO, changes, model).key()
            for changes in ({}, {"size": "3"}) for model in ("/few", "/many")}  # fmt: skip
    keys.add(loaded(tmp_path, TWO.replace("capacity=1", "capacity=int('3')"), model="/few").key())
    assert len(keys) == 5


def test_members_of_instances_go_to_other_processes(tmp_path: Path) -> None:
    module = loaded(tmp_path, TWO).spec.module
    value = module.few.Value(1)
    assert pickle.loads(pickle.dumps(value)) is value


def test_without_constants_of_its_own_a_spec_sets_those_of_its_instance(tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text(QUEUE + LISTED, encoding="utf-8")
    (tmp_path / "user.py").write_text(
        "from checker.lang import instance\nqueue = instance('queue.py', capacity=3)\nMODELS = queue.MODELS\n",
        encoding="utf-8",
    )
    assert load(str(tmp_path / "user.py")).constants == {"capacity": 3}, "not what the queue's own model sets"
    assert load(str(tmp_path / "user.py"), {"capacity": "4"}).state_type.width == 5


LISTED = """

from checker.lang import Model

MODELS = [Model("queue", "-", empty, [put, take], [], constants={"capacity": 1})]
"""


def test_instances_of_instances(tmp_path: Path) -> None:
    middle = HEAD + 'inner = instance("queue.py", capacity=lambda: Design.size)\n'
    (tmp_path / "middle.py").write_text(middle, encoding="utf-8")
    bound = loaded(tmp_path, """
        middle = instance("middle.py", size=lambda: Design.size + 1)
        MODELS = [Model("inner", "-", middle.inner.empty, [middle.inner.put, middle.inner.take], [])]
        """, {"size": "4"})  # fmt: skip
    assert bound.spec.module.middle.inner.Queueing.capacity == 5


REFUSED = {
    'instance("quee.py")': ("there is no file", "did you mean queue.py"),
    'instance("queue")': ("there is no spec 'queue'", "a file beside this one"),
    'instance("no.such.module")': ("there is no spec 'no.such.module'", "a file beside this one"),
    'instance("user.py")': ("user.py makes an instance of itself", "a file of its own"),
    'instance("cycle.py")': ("cycle.py makes an instance of itself", "a file of its own"),
    'instance("queue.py", capasity=3)': ("no constant and no definition capasity", "did you mean capacity"),
    'instance("queue.py", capacity="3")': ("capacity is given '3', and its default is 2", "give it a int"),
    'instance("queue.py", capacity=lambda: Design.size > 1)': ("capacity is given True", "give it a int"),
    'instance("queue.py", capacity=lambda: Design.sice)': ("cannot be computed: AttributeError", "constants of"),
    'instance("broken.py")': ("not Python", ""),
    'instance("raising.py")': ("cannot be loaded: ZeroDivisionError", ""),
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str, tmp_path: Path) -> None:
    reason, hint = REFUSED[call]
    (tmp_path / "cycle.py").write_text("from checker.lang import *\nback = instance('user.py')\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("def (:\n", encoding="utf-8")
    (tmp_path / "raising.py").write_text("x = 1 / 0\n", encoding="utf-8")
    with pytest.raises(SpecError) as refused:
        loaded(tmp_path, f"queue = {call}\nMODELS = [Model('queue', '-', queue.empty, [queue.put, queue.take], [])]\n")
    assert reason in refused.value.reason
    assert hint in refused.value.hint
    assert refused.value.place.line > 0


MAPPED = """
    whole = instance("queue.py", capacity=3{shared})


    @state
    class Line:
        word: Option[Word]


    @init
    def silent() -> Line:
        return Line(word=None)


    @action(who="x", source="-")
    def say(s: Line, word: Word) -> None:
        '''A word is said.'''
        s.word = word


    @refines({abstract})
    def as_queue(s: Line) -> Any:
        '''What is said is in the queue.'''
        return whole.Queue(values=() if s.word is None else (s.word,))


    MODELS = [Model("line", "-", silent, [say], [as_queue])]
"""


def test_classes_of_one_name_in_two_instances_are_two_types(tmp_path: Path) -> None:
    named = MAPPED.replace("Word", "Value")
    (tmp_path / "queue.py").write_text(QUEUE, encoding="utf-8")
    (tmp_path / "user.py").write_text(HEAD.replace("Word", "Value") + textwrap.dedent(
        named.format(shared="", abstract="whole")), encoding="utf-8")  # fmt: skip
    with pytest.raises(SpecError, match=r"a Value where one of another instance(.|\n)*Value=Value"):
        compile_model(load(str(tmp_path / "user.py")))


def test_a_refinement_of_a_model_whose_constants_the_instance_lacks(tmp_path: Path) -> None:
    model = 'Model("q", "-", whole.empty, [whole.put, whole.take], [], constants={"capacity": 4})'
    text = MAPPED.format(shared=", Value=Word", abstract=model)
    compile_model(loaded(tmp_path, text))
    bound = loaded(tmp_path, text.replace("capacity=3, ", ""))
    with pytest.raises(SpecError, match="q sets capacity to 4, and its instance does not"):
        compile_model(bound)
