"""LLVM IR text to object code, here or in a process of its own, and object code to callable addresses.

Run as a script it is that process: text on standard input, object code on standard output.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence

import llvmlite.binding as llvm

QUICK_LINES = 200_000  # from this length on, code is made in a quarter of the time and runs at two thirds of the speed
OPTIMIZED_S_PER_LINE = 40e-6  # measured: 35 to 42 microseconds on models of 2,900 to 81,000 lines
POLL_S = 0.01  # between looks at a process that compiles


def host() -> str:
    """All that object code depends on besides its source: LLVM's version and the processor."""
    return f"{llvm.llvm_version_info} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def _machine(level: int) -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=level, jit=True
    )


def compile_ir(text: str, *, quick: bool = False) -> bytes:
    """Object code for this machine.

    The passes are few: what comes from the front end is folded and shared already, so that value numbering, say, takes
    a fifth of the time and makes nothing faster. Measured on models of 1,200 to 81,000 lines, the code is as fast as
    that of -O2. quick: hardly any passes; a quarter of the time, and the search takes 1.6 to 2 times as long.
    """
    machine = _machine(0 if quick or text.count("\n") >= QUICK_LINES else 1)
    module = llvm.parse_assembly(text)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    if not quick:
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    return bytes(machine.emit_object(module))


class Compilation:
    """`compile_ir` in a process of its own, which Ctrl-C in a terminal does not reach, and which ends with this object.

    A process, as LLVM cannot be interrupted, and llvmlite lets one thread of a process at a time into it.
    """

    def __init__(self, text: str, *, quick: bool = False) -> None:
        self._code = tempfile.TemporaryFile()  # noqa: SIM115 (closed with this object)
        with tempfile.TemporaryFile() as given:
            given.write(text.encode())
            given.seek(0)
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, *["--quick"] * quick],
                stdin=given, stdout=self._code, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        self.stop = weakref.finalize(self, _end, self._process)

    def code(self) -> bytes | None:
        """The object code once it is made; None before. Raises OSError where the process failed."""
        status = self._process.poll()
        if status is None:
            return None
        if status != 0:
            raise OSError(f"the compiler's process ended with status {status}")
        self._code.seek(0)
        return self._code.read()

    @property
    def process_id(self) -> int:
        return self._process.pid


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


def link(code: bytes, names: Sequence[str]) -> tuple[llvm.ExecutionEngine, list[int]]:
    """Load object code: what keeps it loaded, and the addresses of the functions asked for."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(1))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine, [engine.get_function_address(name) for name in names]


if __name__ == "__main__":
    sys.stdout.buffer.write(compile_ir(sys.stdin.read(), quick="--quick" in sys.argv[1:]))
