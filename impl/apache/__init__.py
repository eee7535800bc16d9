"""Apache Kafka's own controller: the released classes, driven without threads, clocks and sockets of their own.

`controller` is a core as `impl.kraft` has one; `java` is the other side of the pipe.
"""
