package org.apache.kafka.raft;

import org.apache.kafka.common.network.ListenerName;

import java.util.ArrayDeque;

/** Messages that wait for a voter, and all of its channel that is alike in every release. M: what a message waits as. */
abstract class Mailbox<M> implements NetworkChannel, RaftMessageQueue {
    static final ListenerName LISTENER = new ListenerName("CONTROLLER");

    private final ArrayDeque<M> messages = new ArrayDeque<>();
    private long pollTimeoutMs;
    private int correlations;

    /** A request goes out. */
    abstract void sends(RaftRequest.Outbound request);

    /** How long the voter would have waited when it last asked for a message. */
    long pollTimeoutMs() {
        return pollTimeoutMs;
    }

    void put(M message) {
        messages.add(message);
    }

    /** The oldest that waits; null where there is none. */
    M next(long timeoutMs) {
        pollTimeoutMs = timeoutMs;
        return messages.poll();
    }

    @Override
    public int newCorrelationId() {
        return ++correlations;
    }

    @Override
    public ListenerName listenerName() {
        return LISTENER;
    }

    @Override
    public boolean isEmpty() {
        return messages.isEmpty();
    }

    @Override
    public void wakeup() {
    }

    @Override
    public void close() {
    }
}
