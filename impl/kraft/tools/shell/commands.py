"""The commands of the shell. Each takes its arguments, and yields the lines that it prints."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

from impl.kraft.tools.shell.help_text import COMMANDS, MANUALS
from impl.kraft.tools.shell.tree import ShellError, Steps, Tree, text_of


class ExitShell(Exception):
    """The person asked to leave."""


class Shell:
    """A tree, where one stands in it, and what was asked before."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._here: Steps = ()
        self._history: list[str] = []
        self._commands: dict[str, Callable[[Sequence[str]], Iterator[str]]] = {
            "cat": self._cat, "cd": self._cd, "exit": self._exit, "find": self._find, "help": self._help,
            "history": self._print_history, "ls": self._ls, "man": self._man, "pwd": self._pwd,
        }  # fmt: skip

    def run(self, line: str) -> Iterator[str]:
        """A line of the interactive shell. Raises ShellError, ExitShell."""
        self._history.append(line)
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise ShellError(f"{line}: {error}") from None
        return self.run_words(words) if words else iter(())

    def run_words(self, words: Sequence[str]) -> Iterator[str]:
        """Raises ShellError, ExitShell."""
        command = self._commands.get(words[0])
        if command is None:
            raise ShellError(f"{words[0]}: no such command; commands are {', '.join(self._commands)}")
        return command(words[1:])

    def _paths(self, texts: Sequence[str]) -> list[Steps]:
        """The current directory where nothing is named."""
        return [path for text in texts or ["."] for path in self._tree.matching(self._here, text)]

    def _cat(self, texts: Sequence[str]) -> Iterator[str]:
        if not texts:
            raise ShellError(MANUALS["cat"])
        for path in self._paths(texts):
            yield self._tree.content(path)

    def _cd(self, texts: Sequence[str]) -> Iterator[str]:
        paths = self._paths(texts or ["/"])
        if len(paths) != 1 or not self._tree.is_directory(paths[0]):
            raise ShellError(f"cd: {' '.join(texts)} is not one directory")
        self._here = paths[0]
        yield from ()

    def _exit(self, texts: Sequence[str]) -> Iterator[str]:
        raise ExitShell

    def _find(self, texts: Sequence[str]) -> Iterator[str]:
        for path in self._paths(texts):
            yield from map(text_of, self._tree.below(path))

    def _help(self, texts: Sequence[str]) -> Iterator[str]:
        yield COMMANDS.removesuffix("\n")

    def _print_history(self, texts: Sequence[str]) -> Iterator[str]:
        if texts and not texts[0].isdecimal():
            raise ShellError(MANUALS["history"])
        first = max(0, len(self._history) - int(texts[0])) if texts else 0
        for number, line in enumerate(self._history[first:], first + 1):
            yield f"{number:>5}  {line}"

    def _ls(self, texts: Sequence[str]) -> Iterator[str]:
        paths = self._paths(texts)
        files = [path for path in paths if not self._tree.is_directory(path)]
        yield from map(text_of, files)
        for path in paths:
            if self._tree.is_directory(path):
                if len(paths) > 1:
                    yield f"{text_of(path)}:"
                yield from self._tree.names(path)

    def _man(self, texts: Sequence[str]) -> Iterator[str]:
        if len(texts) != 1 or texts[0] not in MANUALS:
            raise ShellError(MANUALS["man"])
        yield MANUALS[texts[0]]

    def _pwd(self, texts: Sequence[str]) -> Iterator[str]:
        yield text_of(self._here)
