"""The command: `fencepost`, `python -m checker`, and the script that spark-submit runs (docs/spark.md)."""

import sys
import traceback


def main() -> None:
    """Run the command. Ctrl-C while its modules are loaded, or a broken installation, is not a verdict either."""
    try:
        from checker.cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(3)
    except Exception:
        traceback.print_exc()
        sys.exit(5)


if __name__ == "__main__":
    main()
