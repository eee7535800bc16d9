package org.apache.kafka.raft;

import org.apache.kafka.common.protocol.ApiMessage;

import java.util.concurrent.CompletionStage;

/** What comes to a voter, and what it sends. A request has the future of its answer. */
abstract class Mail extends Mailbox<RaftMessage> {
    /** The answer to a request that went out. */
    void answer(RaftRequest.Outbound request, ApiMessage data) {
        request.completion.complete(new RaftResponse.Inbound(request.correlationId(), data, request.destination()));
    }

    static CompletionStage<RaftResponse.Outbound> handle(KafkaRaftClient<?> client, RaftRequest.Inbound request) {
        client.handle(request);
        return request.completion;
    }

    @Override
    public void send(RaftRequest.Outbound request) {
        sends(request);
    }

    @Override
    public RaftMessage poll(long timeoutMs) {
        return next(timeoutMs);
    }

    @Override
    public void add(RaftMessage message) {
        put(message);
    }
}
