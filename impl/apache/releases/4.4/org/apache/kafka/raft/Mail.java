package org.apache.kafka.raft;

import org.apache.kafka.common.protocol.ApiMessage;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** What comes to a voter, and what it sends. The future of an answer is handed out by who takes the request. */
abstract class Mail extends Mailbox<RaftMessageQueue.QueueEntry> {
    private final Map<Integer, CompletableFuture<RaftResponse.Inbound>> answers = new HashMap<>();

    private record Entry(RaftMessage message, CompletableFuture<RaftMessage> future) implements QueueEntry {
    }

    /** The answer to a request that went out. */
    void answer(RaftRequest.Outbound request, ApiMessage data) {
        answers.remove(request.correlationId())
            .complete(new RaftResponse.Inbound(request.correlationId(), data, request.destination()));
    }

    static CompletionStage<RaftResponse.Outbound> handle(KafkaRaftClient<?> client, RaftRequest.Inbound request) {
        return client.handle(request);
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
        return Optional.ofNullable(next(timeoutMs));
    }

    @Override
    public CompletionStage<RaftMessage> add(RaftMessage message) {
        Entry entry = new Entry(message, new CompletableFuture<>());
        put(entry);
        return entry.future();
    }
}
