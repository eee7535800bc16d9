"""ZooKeeper, as far as the designs of its era share it: `tree`, `sessions`, `watches`. No design, no models.

What holds for every design that keeps its state in ZooKeeper:

- Writes are linearizable, and a step of a model is one write: a `create`, a conditional `set_data` or `delete`, or a
  `multi`, whole or not at all. All of a multi has one zxid, so the zxid of a creation is unique for each path only.
- A znode that is deleted and created again has version 0 again: a `check` of a version cannot tell the two apart.
- The server's truth about a session and the client's belief are two things. When a session ends, its ephemeral znodes
  go in one step; the client learns that later, and gets a new session. What its process had queued stays queued.
- A `set` fires watches, and raises the version, whether the data are new or not.
- A watch is one-shot. Its event is handled later, in the order of the changes, and whoever handles it reads what is
  there by then. `exists` sets a watch on an absent znode, `get` does not.
- Reads are served by a follower: a view is a committed prefix that never goes back. A read that is late, and an early
  read whose answer is handled late, are the same unless another process's message can run ahead of it: only then does
  a design keep views.
- A write whose reply is lost has happened or not. The client cannot know, and repeats it.
"""
