"""Models for executors, which load them by name: what tasks need beside the kernel, types and actions, is Python."""

from __future__ import annotations

import functools
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkContext

from checker.lang.loader import BoundModel, designs, load
from checker.spark.session import own_folder


@dataclass(frozen=True)
class Shipped:
    """What an executor loads a model by. target: a spec that is a file by its whole path, which it must reach."""

    target: str
    constants: dict[str, str]

    def load(self) -> BoundModel:
        """The model, its constants in force."""
        return load(self.target, self.constants)


def ship(model: BoundModel) -> Shipped:
    """Give the executors what the model is loaded from, where it is of a design. There must be a Spark context."""
    name = model.spec.name
    if name in designs():
        _ship_designs(str(SparkContext.getOrCreate().applicationId))
    base = str(Path(name).resolve()) if name.endswith(".py") else name
    return Shipped(f"{base}/{model.model.name}", {n: str(getattr(v, "name", v)) for n, v in model.constants.items()})


@functools.cache
def _ship_designs(application: str) -> None:
    """Once for an application, which takes no second file of a name."""
    context = SparkContext.getOrCreate()
    assert context.applicationId == application
    package = Path(next(iter(sys.modules["spec"].__path__)))
    archive = own_folder() / "designs.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for source in sorted(package.rglob("*.py")):
            file.write(source, source.relative_to(package.parent))
    context.addPyFile(str(archive))
