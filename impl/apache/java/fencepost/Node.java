package fencepost;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kafka.server.KafkaRaftServer;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.controller.ControllerRequestContext;
import org.apache.kafka.controller.Inside;
import org.apache.kafka.controller.QuorumController;
import org.apache.kafka.controller.QuorumFeatures;
import org.apache.kafka.controller.Told;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.queue.KafkaEventQueue;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.fault.FaultHandler;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** A released controller, with a clock and a log that are moved by hand: all that one state of it is made of. */
final class Node {
    /** A version that AlterPartition needs for the newer field of the ISR. */
    private static final short REQUEST_VERSION = 3;

    final ManualTime time = new ManualTime();
    final LogClient log;
    QuorumController controller;
    /** Of the metadata, which stands before the log, and in each snapshot. */
    private ApiMessageAndVersion level;
    /** Those that have no answer yet, and those that have one which was not taken. */
    final Map<Integer, Call> calls = new TreeMap<>();

    /** A call. event: of the controller's, with the answer, while that waits for a commit; else null. */
    static final class Call {
        final CompletableFuture<JsonNode> answer;
        private final Function<Object, JsonNode> write;
        private Object event;

        @SuppressWarnings("unchecked")
        private <T> Call(CompletableFuture<T> future, Function<T, JsonNode> write) {
            this.answer = future.thenApply(write).exceptionally(Node::error);
            this.write = (Function<Object, JsonNode>) write;
        }

        /** What will be answered once the log is committed up to an offset, inclusive; null where that is not known. */
        Told.Answer<JsonNode> waiting() {
            return answer.isDone() || event == null ? null : Told.waiting(read(event, "resultAndOffset"), write);
        }
    }

    /** A fault that a controller reports: it would have ended its process, or raised an alarm. */
    static final class Fault extends RuntimeException {
        private static final long serialVersionUID = 1;

        Fault(String message, Throwable cause) {
            super(cause == null ? message : message + ": " + cause, cause);
        }
    }

    /** Raises what it is told of, and keeps it: Kafka catches some of what is raised. */
    static final class Faults implements FaultHandler {
        static Fault last;

        @Override
        public RuntimeException handleFault(String message, Throwable cause) {
            last = new Fault(message, cause);
            throw last;
        }
    }

    private Node(int id) {
        log = new LogClient(id);
    }

    /** A standby with an empty log, but for the metadata version, which stands before it. */
    static Node create(int id, String clusterId, long sessionTimeoutMs, int metadataVersion, int minInsyncReplicas)
        throws Exception {
        Node made = new Node(id);
        MetadataVersion version = MetadataVersion.fromFeatureLevel((short) metadataVersion);
        made.controller = new QuorumController.Builder(id, clusterId)
            .setTime(made.time)
            .setRaftClient(made.log)
            .setFatalFaultHandler(new Faults())
            .setNonFatalFaultHandler(new Faults())
            .setConfigSchema(KafkaRaftServer.configSchema())
            .setStaticConfig(Map.of("min.insync.replicas", String.valueOf(minInsyncReplicas)))
            .setBootstrapMetadata(BootstrapMetadata.fromVersion(version, "the harness"))
            .setQuorumFeatures(new QuorumFeatures(id, Release.features(), List.of(id)))
            // A lease runs out once as much time has passed, not only once more has.
            .setSessionTimeoutNs(TimeUnit.MILLISECONDS.toNanos(sessionTimeoutMs) - 1)
            .setMaxIdleIntervalNs(OptionalLong.of(TimeUnit.MILLISECONDS.toNanos(500)))
            .build();
        FeatureLevelRecord level = new FeatureLevelRecord()
            .setName(MetadataVersion.FEATURE_NAME)
            .setFeatureLevel((short) metadataVersion);
        made.level = new ApiMessageAndVersion(level, (short) 0);
        made.queue().drain();
        made.log.commit(Batch.data(-1, 0, 0, 1, List.of(made.level)));
        made.queue().drain();
        return made;
    }

    KafkaEventQueue queue() {
        return (KafkaEventQueue) read(controller, "queue");
    }

    /** A field of a controller, which is private. */
    static Object read(Object object, String name) {
        try {
            Field field = object.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(object);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    // The log.

    void replay(Batch<ApiMessageAndVersion> batch) {
        log.endOffset = batch.lastOffset() + 1;
        log.commit(batch);
        queue().drain();
    }

    /** A snapshot takes the place of the log up to an offset, inclusive. */
    void load(long offset, Batch<ApiMessageAndVersion> records) {
        List<ApiMessageAndVersion> all = new ArrayList<>(records.records());
        all.add(0, level);
        log.load(offset, Batch.data(0, records.epoch(), 0, all.size(), all));
        queue().drain();
    }

    /** All that it has appended below an offset is committed. */
    void commit(long offset) {
        while (!log.pending.isEmpty() && log.pending.peek().lastOffset() < offset) {
            log.commit(log.pending.poll());
            queue().drain();
        }
    }

    void lead(int epoch, boolean begins) {
        if (begins) {
            Batch<ApiMessageAndVersion> control = LogClient.control(log.endOffset, epoch);
            log.appended.add(control);
            log.pending.add(control);
            log.endOffset = control.lastOffset() + 1;
        }
        change(OptionalInt.of(log.nodeId), epoch);
    }

    void resign() {
        change(OptionalInt.empty(), log.leader.epoch() + 1);
        if (!log.pending.isEmpty()) {
            log.endOffset = log.pending.peek().baseOffset();
            log.pending.clear();
        }
    }

    private void change(OptionalInt leader, int epoch) {
        log.leader = new LeaderAndEpoch(leader, epoch);
        log.listener.handleLeaderChange(log.leader);
        queue().drain();
    }

    // Requests.

    /** The topic that is created next has this id: Kafka draws one. */
    void call(int number, String kind, JsonNode request, Uuid topicId) {
        List<Object> before = deferred();
        log.nextTopicId = topicId;
        Call call;
        try {
            call = begin(kind, request);
        } catch (ApiException e) {
            call = new Call(CompletableFuture.failedFuture(e), answer -> json());
        }
        calls.put(number, call);
        queue().drain();
        log.nextTopicId = null;
        call.event = deferred().stream().filter(one -> !before.contains(one)).findFirst().orElse(null);
    }

    /** What was decided, and is answered once it is committed. */
    private List<Object> deferred() {
        Map<?, ?> pending = (Map<?, ?>) read(read(controller, "deferredEventQueue"), "pending");
        List<Object> found = new ArrayList<>();
        pending.values().forEach(some -> found.addAll((List<?>) some));
        return found;
    }

    private Call begin(String kind, JsonNode json) {
        short version = REQUEST_VERSION;
        ControllerRequestContext context = new ControllerRequestContext(
            new RequestHeaderData().setRequestApiVersion(version), KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
        switch (kind) {
            case "BrokerRegistration":
                return new Call(controller.registerBroker(context, BrokerRegistrationRequestDataJsonConverter.read(json, (short) 4)),
                    reply -> json("brokerEpoch", reply.epoch()));
            case "BrokerHeartbeat":
                return new Call(controller.processBrokerHeartbeat(context, BrokerHeartbeatRequestDataJsonConverter.read(json, (short) 1)),
                    reply -> json("isCaughtUp", reply.isCaughtUp())
                        .put("isFenced", reply.isFenced())
                        .put("shouldShutDown", reply.shouldShutDown()));
            case "UnregisterBroker":
                return new Call(controller.unregisterBroker(context, json.get("brokerId").intValue()),
                    reply -> json());
            case "AlterPartition":
                return new Call(controller.alterPartition(context, AlterPartitionRequestDataJsonConverter.read(json, version)),
                    reply -> AlterPartitionResponseDataJsonConverter.write(reply, version));
            case "AlterPartitionReassignments":
                return new Call(controller.alterPartitionReassignments(
                        context, AlterPartitionReassignmentsRequestDataJsonConverter.read(json, (short) 0)),
                    reply -> AlterPartitionReassignmentsResponseDataJsonConverter.write(reply, (short) 0));
            case "ListPartitionReassignments":
                return new Call(controller.listPartitionReassignments(
                        context, ListPartitionReassignmentsRequestDataJsonConverter.read(json, (short) 0)),
                    reply -> ListPartitionReassignmentsResponseDataJsonConverter.write(reply, (short) 0));
            case "ElectLeaders":
                return new Call(controller.electLeaders(context, ElectLeadersRequestDataJsonConverter.read(json, (short) 2)),
                    reply -> ElectLeadersResponseDataJsonConverter.write(reply, (short) 2));
            case "CreateTopics":
                return new Call(Release.createTopics(
                        controller, context, CreateTopicsRequestDataJsonConverter.read(json, (short) 7)),
                    reply -> CreateTopicsResponseDataJsonConverter.write(reply, (short) 7));
            case "DeleteTopics":
                Uuid id = Uuid.fromString(json.get("topicId").textValue());
                return new Call(controller.deleteTopics(context, List.of(id)),
                    reply -> json("errorCode", reply.get(id).error().code()));
            default:
                throw new IllegalArgumentException("no request is called " + kind);
        }
    }

    private static ObjectNode json() {
        return JsonNodeFactory.instance.objectNode();
    }

    private static ObjectNode json(String name, Object value) {
        return json().set(name, JsonNodeFactory.instance.pojoNode(value));
    }

    /** What ControllerApis makes of an exception: the code of its error. */
    private static JsonNode error(Throwable thrown) {
        Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : thrown;
        return json().put("errorCode", Errors.forException(cause).code()).put("errorMessage", cause.getMessage());
    }

    // Time.

    void fire(String tag) {
        queue().fire(tag);
    }

    /** Look for leases that have run out, of which the one to be found is that of a broker. */
    void checkLease(int brokerId) {
        Inside.findOnly(controller, brokerId, () -> fire(Inside.LEASE_CHECK));
    }

    /** Some lease is looked after. */
    boolean checksLeases() {
        return queue().deadlines().containsKey(Inside.LEASE_CHECK);
    }

    /** A broker is heard of, and says nothing: what the threads that take its heartbeats do with each first. */
    void contact(int brokerId, long brokerEpoch) {
        Inside.contact(controller, brokerId, brokerEpoch);
    }
}
