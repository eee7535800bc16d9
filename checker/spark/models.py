"""Models for executors, which load them by name: what tasks need beside the kernel, types and actions, is Python."""

from __future__ import annotations

import functools
import re
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from pyspark import SparkContext, SparkFiles

from checker.lang.loader import BoundModel, load
from checker.spark.session import own_folder


@dataclass(frozen=True)
class Shipped:
    """A model as executors load it: from a folder that Spark unpacks there, for a spec is read as files.

    target: as for `load`, a file by its path in that folder. archive: the folder's name; root: where it was packed.
    """

    target: str
    constants: dict[str, str]
    archive: str
    root: Path = field(compare=False)

    def load(self) -> BoundModel:
        """The model, its constants in force."""
        folder = SparkFiles.get(self.archive)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        return load(f"{folder}/{self.target}" if ".py/" in self.target else self.target, self.constants)

    def as_here(self, text: str) -> str:
        """An executor's message, with the paths of the spec as they are on this machine."""
        here = Path.cwd()
        root = self.root.relative_to(here) if self.root.is_relative_to(here) else self.root
        return re.sub(rf"[^\s(]*{re.escape(self.archive)}/", "" if root == Path() else f"{root}/", text)


def ship(model: BoundModel) -> Shipped:
    """Give the executors what the model is loaded from. There must be a Spark context."""
    name, constants = model.spec.name, {n: str(getattr(v, "name", v)) for n, v in model.constants.items()}
    module, application = model.spec.module.__name__, str(SparkContext.getOrCreate().applicationId)
    if name.endswith(".py"):
        file = Path(name).resolve()
        root, target = file.parent, f"{file.name}/{model.model.name}"
        beside = tuple(sorted(path for path in model.source_files() if path.is_relative_to(root)))
        return Shipped(target, constants, _ship(root, beside, application), root)
    package = Path(next(iter(sys.modules[module.partition(".")[0]].__path__)))
    archive = _ship(package.parent, tuple(sorted(package.rglob("*.py"))), application)
    return Shipped(f"{name}/{model.model.name}", constants, archive, package.parent)


@functools.cache
def _ship(root: Path, sources: tuple[Path, ...], application: str) -> str:
    """The name of an archive with files below `root`: made once for an application, which takes no second of a name."""
    context = SparkContext.getOrCreate()
    assert context.applicationId == application
    name = f"spec-{_ship.cache_info().misses}-{application}.zip"
    with zipfile.ZipFile(own_folder() / name, "w", zipfile.ZIP_DEFLATED) as file:
        for source in sources:
            file.write(source, source.relative_to(root))
    context.addArchive(str(own_folder() / name))
    return name
