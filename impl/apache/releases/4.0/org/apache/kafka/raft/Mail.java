package org.apache.kafka.raft;

import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiMessage;

import java.util.ArrayDeque;
import java.util.concurrent.CompletionStage;

/** What comes to a voter, and what it sends. A request has the future of its answer. */
abstract class Mail implements NetworkChannel, RaftMessageQueue {
    static final ListenerName LISTENER = new ListenerName("CONTROLLER");

    private final ArrayDeque<RaftMessage> messages = new ArrayDeque<>();
    private long pollTimeoutMs;
    private int correlations;

    /** A request goes out. */
    abstract void sends(RaftRequest.Outbound request);

    /** The answer to a request that went out. */
    void answer(RaftRequest.Outbound request, ApiMessage data) {
        request.completion.complete(new RaftResponse.Inbound(request.correlationId(), data, request.destination()));
    }

    static CompletionStage<RaftResponse.Outbound> handle(KafkaRaftClient<?> client, RaftRequest.Inbound request) {
        client.handle(request);
        return request.completion;
    }

    /** How long the voter would have waited when it last found no message. */
    long pollTimeoutMs() {
        return pollTimeoutMs;
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
    public void send(RaftRequest.Outbound request) {
        sends(request);
    }

    @Override
    public RaftMessage poll(long timeoutMs) {
        pollTimeoutMs = timeoutMs;
        return messages.poll();
    }

    @Override
    public void add(RaftMessage message) {
        messages.add(message);
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
