package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.Writable;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.raft.errors.NotLeaderException;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.serialization.RecordSerde;
import org.apache.kafka.snapshot.SnapshotReader;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * A released voter (KafkaRaftClient) without threads, clock, sockets or disk.
 *
 * Each step hands in one thing, polls until nothing is left to do, and tells what the voter has asked for, in order.
 */
public final class SteppedVoter {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    private static final int MOST_POLLS = 100;
    private static final List<ApiKeys> SPOKEN = List.of(ApiKeys.VOTE, ApiKeys.BEGIN_QUORUM_EPOCH,
        ApiKeys.END_QUORUM_EPOCH, ApiKeys.FETCH, ApiKeys.FETCH_SNAPSHOT);

    private final int node;
    private final Time time;
    private final KafkaRaftClient<byte[]> client;
    private final Mail mail = new Sent();
    private final Map<Integer, RaftRequest.Outbound> sent = new HashMap<>();
    private final List<Waiting> waiting = new ArrayList<>();
    private ArrayNode effects = JSON.arrayNode();
    private long highWatermark;

    /** A fetch that is answered at a time, whether there is something new or not. */
    private record Waiting(long atMs, CompletableFuture<?> future) {
    }

    public SteppedVoter(JsonNode start, Time time) throws IOException {
        this.node = start.get("node").intValue();
        this.time = time;
        Map<String, Object> configs = new HashMap<>();
        start.get("configs").properties().forEach(one -> configs.put(one.getKey(), one.getValue().asText()));
        Map<Integer, InetSocketAddress> voters = new HashMap<>();
        start.get("voters").forEach(
            id -> voters.put(id.intValue(), InetSocketAddress.createUnresolved("voter" + id, 9093)));
        ListedLog log = new ListedLog(start.get("log").binaryValue(), new LogTold());
        this.client = new KafkaRaftClient<>(
            OptionalInt.of(node), new Uuid(1L << 32, node + 1), new Bytes(), mail, mail, log, MemoryPool.NONE, time, new Expiration(), start.get("fetchMaxWaitMs").intValue(), true, "",
            List.of(), Endpoints.fromInetSocketAddresses(Map.of(Mail.LISTENER, voters.get(node))),
            Feature.KRAFT_VERSION.supportedVersionRange(), new LogContext(), new Random(start.get("seed").longValue()),
            new QuorumConfig(new AbstractConfig(QuorumConfig.CONFIG_DEF, configs, false)));
        client.register(new Listener());
        client.initialize(voters, new Store(start.get("election")), new Metrics(), ignored -> { });
    }

    /** Hands in what a command says, and tells what comes of it. */
    public ObjectNode step(JsonNode command) throws IOException {
        switch (command.get("kind").textValue()) {
            case "start", "wake" -> { }
            case "request" -> handle(command);
            case "response" -> answer(command);
            case "append" -> append(command);
            case "resign" -> client.resign(command.get("epoch").intValue());
            default -> throw new IllegalArgumentException("no step is called " + command.get("kind"));
        }
        for (Waiting one : List.copyOf(waiting)) {
            if (one.atMs <= time.milliseconds()) {
                waiting.remove(one);
                one.future.completeExceptionally(new TimeoutException("nothing is new"));
            }
        }
        for (int polls = 0, quiet = 0; quiet < 2; polls++) {
            int before = effects.size();
            boolean isIdle = mail.isEmpty();
            client.poll();
            quiet = isIdle && effects.size() == before ? quiet + 1 : 0;
            if (polls > MOST_POLLS) {
                throw new IllegalStateException("there is no end to what node " + node + " does");
            }
        }
        ObjectNode told = told();
        if (command.get("kind").textValue().equals("start")) {
            ObjectNode versions = told.putObject("versions");
            SPOKEN.forEach(api -> versions.put(String.valueOf(api.id), api.latestVersion()));
        }
        return told;
    }

    private ObjectNode told() {
        long end = client.highWatermark().orElse(0);
        if (end > highWatermark) {
            highWatermark = end;
            effects.addObject().put("committed", end);
        }
        ObjectNode told = JSON.objectNode();
        told.set("effects", effects);
        effects = JSON.arrayNode();
        long nextMs = time.milliseconds() + Math.max(1, mail.pollTimeoutMs());
        for (Waiting one : waiting) {
            nextMs = Math.min(nextMs, one.future.isDone() ? nextMs : one.atMs);
        }
        waiting.removeIf(one -> one.future.isDone());
        QuorumState quorum = client.quorum();
        told.put("wakeMs", nextMs).put("epoch", quorum.epoch()).put("leader", quorum.leaderIdOrSentinel())
            .put("voted", quorum.votedKey().map(ReplicaKey::id).orElse(-1)).put("role", role(quorum));
        quorum.maybeLeaderState().ifPresent(leader -> {
            told.put("epochStart", leader.epochStartOffset());
            ObjectNode ends = told.putObject("ends");
            leader.voterStates().forEach((id, state) ->
                ends.put(id.toString(), state.endOffset().map(LogOffsetMetadata::offset).orElse(0L)));
        });
        return told;
    }

    private static String role(QuorumState quorum) {
        return quorum.isLeader() ? "leader" : quorum.isResigned() ? "resigned" : quorum.isCandidate() ? "candidate"
            : quorum.isProspective() ? "prospective" : quorum.isFollower() ? "follower" : "unattached";
    }

    // Messages.

    private void handle(JsonNode command) throws IOException {
        ApiKeys api = ApiKeys.forId(command.get("api").intValue());
        short version = command.get("version").shortValue();
        ApiMessage request = api.messageType.newRequest();
        request.read(new ByteBufferAccessor(ByteBuffer.wrap(command.get("body").binaryValue())), version);
        int call = command.get("call").intValue();
        RaftRequest.Inbound inbound =
            new RaftRequest.Inbound(Mail.LISTENER, call, version, request, time.milliseconds());
        Mail.handle(client, inbound).whenComplete((response, error) -> {
            ApiMessage data = error == null ? response.data() : RaftUtil.errorResponse(api, Errors.forException(error));
            effects.addObject().put("answer", call).put("body", bytes(data, version));
        });
    }

    private void answer(JsonNode command) throws IOException {
        RaftRequest.Outbound request = sent.remove(command.get("correlation").intValue());
        ApiKeys api = ApiKeys.forId(request.data().apiKey());
        ApiMessage data = RaftUtil.errorResponse(api, Errors.REQUEST_TIMED_OUT);
        if (!command.get("body").isNull()) {
            data = api.messageType.newResponse();
            data.read(new ByteBufferAccessor(ByteBuffer.wrap(command.get("body").binaryValue())), api.latestVersion());
        }
        mail.answer(request, data);
    }

    private void append(JsonNode command) throws IOException {
        List<byte[]> records = new ArrayList<>();
        for (JsonNode record : command.get("records")) {
            records.add(record.binaryValue());
        }
        try {
            client.prepareAppend(command.get("epoch").intValue(), records);
            client.schedulePreparedAppend();
        } catch (NotLeaderException e) {
            effects.addObject().put("refused", e.getMessage());
        }
    }

    private static byte[] bytes(ApiMessage message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        byte[] found = new byte[message.size(cache, version)];
        message.write(new ByteBufferAccessor(ByteBuffer.wrap(found)), cache, version);
        return found;
    }

    // What the voter runs on.

    private final class Sent extends Mail {
        @Override
        void sends(RaftRequest.Outbound request) {
            ApiKeys api = ApiKeys.forId(request.data().apiKey());
            if (api == ApiKeys.UPDATE_RAFT_VOTER) { // of KIP-853: voters are static, and the others know no such request
                answer(request, RaftUtil.errorResponse(api, Errors.UNSUPPORTED_VERSION));
                return;
            }
            sent.put(request.correlationId(), request);
            effects.addObject().put("send", request.destination().id()).put("correlation", request.correlationId())
                .put("api", api.id).put("body", bytes(request.data(), api.latestVersion()));
        }
    }

    private final class Expiration implements ExpirationService {
        @Override
        public <T> CompletableFuture<T> failAfter(long timeoutMs) {
            CompletableFuture<T> future = new CompletableFuture<>();
            waiting.add(new Waiting(time.milliseconds() + timeoutMs, future));
            return future;
        }
    }

    private final class Store implements QuorumStateStore {
        private Optional<ElectionState> stored = Optional.empty();

        Store(JsonNode election) {
            if (election.isNull()) {
                return;
            }
            int epoch = election.get("epoch").intValue();
            int leader = election.get("leader").intValue();
            Optional<ReplicaKey> voted = election.get("voted").intValue() < 0
                ? Optional.empty()
                : Optional.of(ReplicaKey.of(election.get("voted").intValue(), ReplicaKey.NO_DIRECTORY_ID));
            stored = Optional.of(
                leader >= 0 ? ElectionState.withElectedLeader(epoch, leader, voted, Set.of())
                    : voted.map(key -> ElectionState.withVotedCandidate(epoch, key, Set.of()))
                        .orElseGet(() -> ElectionState.withUnknownLeader(epoch, Set.of())));
        }

        @Override
        public Optional<ElectionState> readElectionState() {
            return stored;
        }

        @Override
        public void writeElectionState(ElectionState state, KRaftVersion version) {
            stored = Optional.of(state);
            effects.addObject().putObject("persist").put("epoch", state.epoch())
                .put("leader", state.leaderIdOrSentinel())
                .put("voted", state.optionalVotedKey().map(ReplicaKey::id).orElse(-1));
        }

        @Override
        public Path path() {
            return Path.of("quorum-state");
        }

        @Override
        public void clear() {
            stored = Optional.empty();
        }
    }

    private final class LogTold implements ListedLog.Told {
        @Override
        public void appended(byte[] batches, int epoch) {
            effects.addObject().put("append", batches).put("epoch", epoch);
        }

        @Override
        public void truncated(long endOffset) {
            effects.addObject().put("truncate", endOffset);
        }

        @Override
        public void flushed(long endOffset) {
            effects.addObject().put("flush", endOffset);
        }
    }

    private final class Listener implements RaftClient.Listener<byte[]> {
        private boolean leads;

        @Override
        public void handleCommit(BatchReader<byte[]> reader) {
            reader.close();
        }

        @Override
        public void handleLoadSnapshot(SnapshotReader<byte[]> reader) {
            reader.close();
        }

        /** Overrides nothing before 4.3. */
        public void handleLoadBootstrap(SnapshotReader<byte[]> reader) {
            reader.close();
        }

        @Override
        public void handleLeaderChange(LeaderAndEpoch leader) {
            if (leader.isLeader(node)) {
                leads = true;
                effects.addObject().put("claim", leader.epoch());
            } else if (leads) {
                leads = false;
                effects.addObject().put("renounce", leader.epoch());
            }
        }
    }

    private static final class Bytes implements RecordSerde<byte[]> {
        @Override
        public int recordSize(byte[] data, ObjectSerializationCache cache) {
            return data.length;
        }

        @Override
        public void write(byte[] data, ObjectSerializationCache cache, Writable out) {
            out.writeByteArray(data);
        }

        @Override
        public byte[] read(Readable input, int size) {
            return input.readArray(size);
        }
    }
}
