"""The command as `python -m checker`, and as the script that spark-submit runs (docs/spark.md)."""

from checker.cli import main

main()
