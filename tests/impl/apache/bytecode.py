"""Faults in released classes: a condition is negated, by the instruction that jumps where it does not hold.

Lengths stay, and so do the targets of jumps and the types on the stack there, so that the JVM's verifier is content.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

LENGTHS = bytes.fromhex(
    "01" * 16 + "020302" + "0303" + "02" * 5 + "01" * 28 + "02" * 5 + "01" * 73 + "03" + "01" * 20 + "03" * 16
    + "020000" + "01" * 6 + "03" * 7 + "0505030203" + "0101" + "0303" + "0101" + "0004" + "0303" + "0505"
)  # fmt: skip
"""Of each opcode its length in bytes; 0 where it depends on what follows."""
TABLESWITCH, LOOKUPSWITCH, WIDE, IINC = 0xAA, 0xAB, 0xC4, 0x84
CONDITIONS = {*range(0x99, 0xA7), 0xC6, 0xC7}
UTF8, LONG, DOUBLE = 1, 5, 6
CONSTANTS = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Bytes of the constants of a class, by their tags."""


class ClassFile:
    """A class, and where the code of its methods is (Java Virtual Machine Specification, chapter 4)."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        self._at = 8
        self._constants: dict[int, tuple[int, bytes]] = {}
        self._read_constants()
        self._at += 6
        interfaces = self._number(">H")
        self._at += 2 * interfaces
        self.code: dict[str, list[tuple[int, int]]] = {}  # where it starts and ends, by the name of its method
        self._read_members()
        self._read_members()

    def _number(self, form: str) -> int:
        found: int = struct.unpack_from(form, self.data, self._at)[0]
        self._at += struct.calcsize(form)
        return found

    def _read_constants(self) -> None:
        index, end = 1, self._number(">H")
        while index < end:
            tag = self._number(">B")
            size = self._number(">H") if tag == UTF8 else CONSTANTS[tag]
            self._constants[index] = tag, bytes(self.data[self._at : self._at + size])
            self._at += size
            index += 2 if tag in (LONG, DOUBLE) else 1

    def _text(self, index: int) -> str:
        return self._constants[index][1].decode()

    def _read_members(self) -> None:
        for _ in range(self._number(">H")):
            _, name, _, attributes = (self._number(">H") for _ in range(4))
            for _ in range(attributes):
                kind, size = self._number(">H"), self._number(">I")
                if self._text(kind) == "Code":
                    (length,) = struct.unpack_from(">I", self.data, self._at + 4)
                    self.code.setdefault(self._text(name), []).append((self._at + 8, self._at + 8 + length))
                self._at += size

    def instructions(self, method: str) -> Iterator[int]:
        """Where the instructions of a method are, of all that are called so."""
        for start, end in self.code[method]:
            at = start
            while at < end:
                yield at
                at += self._length(at, start)

    def _length(self, at: int, start: int) -> int:
        opcode = self.data[at]
        if opcode == WIDE:
            return 6 if self.data[at + 1] == IINC else 4
        if opcode not in (TABLESWITCH, LOOKUPSWITCH):
            return LENGTHS[opcode]
        table = at + 4 - (at - start) % 4  # aligned
        _, first, last = struct.unpack_from(">iii", self.data, table)
        size = 12 + 4 * (last - first + 1) if opcode == TABLESWITCH else 8 + 8 * first
        return int(table + size - at)


def negate(found: ClassFile, method: str, number: int) -> None:
    """Let the condition of this number, from 0 on, hold where it does not, and not where it does."""
    at = [one for one in found.instructions(method) if found.data[one] in CONDITIONS][number]
    opcode = found.data[at]
    found.data[at] = opcode ^ 1 if opcode >= 0xC6 else opcode + 1 if opcode % 2 else opcode - 1


def changed_jar(jar: Path, into: Path, name: str, found: ClassFile) -> None:
    """A copy of a jar with a class in the place of the one of that name, and without what signs it."""
    with zipfile.ZipFile(jar) as before, zipfile.ZipFile(into, "w", zipfile.ZIP_STORED) as after:
        for one in before.namelist():
            after.writestr(one, bytes(found.data) if one == f"{name}.class" else before.read(one))


def build_with(released: Path, jar_name: str, where: str, change: Callable[[ClassFile, str], None], into: Path) -> None:
    """A folder of jars as a build has it, with one class that is changed.

    released: the folder of a release. where: the class, as in the jar, and its method. change: is given that method.
    """
    kind, _, method = where.rpartition(".")
    into.mkdir()
    for jar in released.glob("*.jar"):
        if jar.name != jar_name:
            (into / jar.name).symlink_to(jar)
    with zipfile.ZipFile(released / jar_name) as before:
        found = ClassFile(before.read(f"{kind}.class"))
    was = bytes(found.data)
    change(found, method)
    assert found.data != was
    changed_jar(released / jar_name, into / jar_name, kind, found)
