package org.apache.kafka.raft;

import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiMessage;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** What comes to a voter, and what it sends. The future of an answer is handed out by who takes the request. */
abstract class Mail implements NetworkChannel, RaftMessageQueue {
    static final ListenerName LISTENER = new ListenerName("CONTROLLER");

    private final ArrayDeque<QueueEntry> messages = new ArrayDeque<>();
    private final Map<Integer, CompletableFuture<RaftResponse.Inbound>> answers = new HashMap<>();
    private long pollTimeoutMs;
    private int correlations;

    private record Entry(RaftMessage message, CompletableFuture<RaftMessage> future) implements QueueEntry {
    }

    /** A request goes out. */
    abstract void sends(RaftRequest.Outbound request);

    /** The answer to a request that went out. */
    void answer(RaftRequest.Outbound request, ApiMessage data) {
        answers.remove(request.correlationId())
            .complete(new RaftResponse.Inbound(request.correlationId(), data, request.destination()));
    }

    static CompletionStage<RaftResponse.Outbound> handle(KafkaRaftClient<?> client, RaftRequest.Inbound request) {
        return client.handle(request);
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
    public CompletionStage<RaftResponse.Inbound> send(RaftRequest.Outbound request) {
        CompletableFuture<RaftResponse.Inbound> answer = new CompletableFuture<>();
        answers.put(request.correlationId(), answer);
        sends(request);
        return answer;
    }

    @Override
    public Optional<QueueEntry> poll(long timeoutMs) {
        pollTimeoutMs = timeoutMs;
        return Optional.ofNullable(messages.poll());
    }

    @Override
    public CompletionStage<RaftMessage> add(RaftMessage message) {
        Entry entry = new Entry(message, new CompletableFuture<>());
        messages.add(entry);
        return entry.future();
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
