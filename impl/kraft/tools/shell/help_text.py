"""What the shell says of itself: KIP-631's texts, and manuals of its commands."""

SHELL = """\
usage: kafka-metadata-shell [-h] [--controllers CONTROLLERS] [--config CONFIG] [--snapshot SNAPSHOT]
                            [command [command ...]]

The Apache Kafka metadata tool

positional arguments:
  command                The command to run.

optional arguments:
  -h, --help             show this help message and exit
  --controllers CONTROLLERS, -C CONTROLLERS
                         The quorum voter connection string to use.
  --config CONFIG, -c CONFIG
                         The configuration file to use.
  --snapshot SNAPSHOT, -s SNAPSHOT
                         The snapshot file to read.

Exit codes: 0 done, 1 a command failed, the snapshot is damaged or no quorum answers, 2 usage or configuration.
"""

COMMANDS = """\
Welcome to the Apache Kafka metadata shell.

usage:  {cat,cd,exit,find,help,history,ls,man,pwd} ...

positional arguments:
  {cat,cd,exit,find,help,history,ls,man,pwd}
    cat                  Show the contents of metadata nodes.
    cd                   Set the current working directory.
    exit                 Exit the metadata shell.
    find                 Search for nodes in the directory hierarchy.
    help                 Display this help message.
    history              Print command history.
    ls                   List metadata nodes.
    man                  Show the help text for a specific command.
    pwd                  Print the current working directory.
"""

MANUALS = {
    "cat": "cat PATH...: show what files say. Paths may have *, ? and [...], here and below.",
    "cd": "cd [PATH]: set the current working directory; to / without a path.",
    "exit": "exit: exit the metadata shell.",
    "find": "find [PATH...]: print the paths of all nodes below, beginning with the path itself.",
    "help": "help: display what commands there are.",
    "history": "history [COUNT]: print the last COUNT commands, or all.",
    "ls": "ls [PATH...]: list the nodes of directories, a name a line.",
    "man": "man COMMAND: show this text for a command.",
    "pwd": "pwd: print the current working directory.",
}
