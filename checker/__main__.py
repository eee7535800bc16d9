"""The command: `fencepost`, `python -m checker`, and the script that spark-submit runs (docs/spark.md)."""

import sys


def main() -> None:
    """Run the command. Ctrl-C while its modules are loaded ends it as Ctrl-C does later."""
    try:
        from checker.cli.main import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(3)
    run()


if __name__ == "__main__":
    main()
