package fencepost;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kafka.cluster.DelayedOperations;
import kafka.cluster.Partition;
import kafka.server.KafkaConfig;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AlterPartitionRequest;
import org.apache.kafka.common.requests.AlterPartitionResponse;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.partition.AlterPartitionListener;
import org.apache.kafka.server.partition.AlterPartitionManager;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.storage.internals.log.LogReadInfo;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.stream.StreamSupport;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The replicas of a released broker: {@code Partition} with its logs on disk, {@code AlterPartitionManager}, and the
 * fetchers of what it follows, without threads, clock and network. Each step tells what the partitions are then.
 */
final class Replicas implements Stepped {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    private final KafkaConfig config;
    private final ManualTime time;
    private final LongSupplier brokerEpoch;
    private final Map<String, Properties> topics = new HashMap<>();
    private final Logs logs;
    private final KRaftMetadataCache metadata;
    private final Scheduled scheduled;
    private final Channel channel;
    private final AlterPartitionManager isrs;
    private final Fetchers fetchers;
    private final Map<TopicPartition, Partition> partitions = new TreeMap<>(Replicas::compare);
    private final Map<TopicPartition, Long> toldEnds = new HashMap<>();
    private ArrayNode requests = JSON.arrayNode();

    Replicas(KafkaConfig config, ManualTime time, LongSupplier brokerEpoch) throws Exception {
        this.config = config;
        this.time = time;
        this.brokerEpoch = brokerEpoch;
        this.scheduled = new Scheduled(time);
        this.channel = new Channel(time, this::tell);
        this.metadata = new KRaftMetadataCache(config.nodeId(), () -> KRaftVersion.KRAFT_VERSION_1);
        this.logs = new Logs(config, time, topic -> topics.getOrDefault(topic, new Properties()));
        this.isrs = Logs.isrs(channel, scheduled, time, config.nodeId(), brokerEpoch);
        this.fetchers = new Fetchers(config, partitions, new BrokerTopicStats());
    }

    @Override
    public ObjectNode step(JsonNode command) throws Exception {
        ObjectNode told = JSON.objectNode();
        try {
            switch (command.get("kind").textValue()) {
                case "open" -> tellLogs(told);
                case "publish" -> publish(command);
                case "append" -> told.put("end", append(command));
                case "serve" -> serve(command, told);
                case "poll" -> poll(command, told);
                case "fetched" -> fetchers.fetched(partition(command), command);
                case "expire" -> partitions.values().forEach(Partition::maybeShrinkIsr);
                case "scheduled" -> scheduled.run();
                case "altered" -> altered(command);
                default -> throw new IllegalArgumentException("no step is called " + command.get("kind"));
            }
        } catch (ApiException e) {
            told.put("refused", Errors.forException(e).code());
        }
        tellPartitions(told.putArray("partitions"));
        told.set("requests", requests);
        requests = JSON.arrayNode();
        scheduled.tell(told.putArray("timers"));
        return told;
    }

    /** The process dies: what is in its files stays there, and nothing more is written. */
    @Override
    public void close() {
        logs.close();
        partitions.keySet().forEach(Partition::removeMetrics);
    }

    private static int compare(TopicPartition one, TopicPartition other) {
        int topics = one.topic().compareTo(other.topic());
        return topics != 0 ? topics : Integer.compare(one.partition(), other.partition());
    }

    // Metadata.

    private void publish(JsonNode command) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        for (JsonNode one : command.get("brokers")) {
            delta.replay(new RegisterBrokerRecord().setBrokerId(one.get("id").intValue())
                .setBrokerEpoch(one.get("epoch").longValue()).setFenced(one.get("fenced").booleanValue())
                .setInControlledShutdown(one.get("shuttingDown").booleanValue()));
        }
        metadata.setImage(delta.apply(MetadataProvenance.EMPTY));
        command.get("deleted").forEach(one -> delete(name(one)));
        for (JsonNode one : command.get("assigned")) {
            Properties properties = new Properties();
            properties.put("min.insync.replicas", one.get("minInsyncReplicas").asText());
            topics.put(one.get("topic").textValue(), properties);
            assign(name(one), Uuid.fromString(one.get("topicId").textValue()), registration(one));
        }
    }

    private void delete(TopicPartition name) {
        fetchers.remove(name);
        Partition partition = partitions.remove(name);
        if (partition != null) {
            partition.delete();
        }
        logs.delete(name);
        toldEnds.remove(name);
    }

    private void assign(TopicPartition name, Uuid topicId, PartitionRegistration registration) {
        boolean isNew = !partitions.containsKey(name);
        Partition partition = partitions.computeIfAbsent(name, one -> made(one, topicId));
        if (registration.leader == config.nodeId()) {
            fetchers.remove(name);
            Forms.lead(partition, registration, isNew, topicId);
            return;
        }
        if (Forms.follow(partition, registration, isNew, topicId)) {
            fetchers.remove(name);
            if (registration.hasLeader()) {
                fetchers.add(partition, registration.leader);
            }
        }
    }

    private Partition made(TopicPartition name, Uuid topicId) {
        Option<Uuid> id = Option.apply(topicId);
        DelayedOperations none = new DelayedOperations(id, name, null, null, null, null) {
            @Override
            public void checkAndCompleteAll() {
            }

            @Override
            public int numDelayedDelete() {
                return 0;
            }
        };
        AlterPartitionListener quiet = new AlterPartitionListener() {
            @Override
            public void markIsrExpand() {
            }

            @Override
            public void markIsrShrink() {
            }

            @Override
            public void markFailed() {
            }
        };
        return new Partition(
            name, config.replicaLagTimeMaxMs(), config.nodeId(), brokerEpoch::getAsLong, time, quiet, none, metadata,
            logs.manager, isrs, id);
    }

    private static PartitionRegistration registration(JsonNode one) {
        return new PartitionRegistration(new PartitionRecord()
            .setReplicas(ids(one.get("replicas"))).setIsr(ids(one.get("isr")))
            .setAddingReplicas(ids(one.get("adding"))).setRemovingReplicas(ids(one.get("removing")))
            .setLeader(one.get("leader").intValue()).setLeaderEpoch(one.get("leaderEpoch").intValue())
            .setLeaderRecoveryState(one.get("recoveryState").numberValue().byteValue())
            .setPartitionEpoch(one.get("partitionEpoch").intValue()));
    }

    private static List<Integer> ids(JsonNode many) {
        List<Integer> found = new ArrayList<>();
        many.forEach(one -> found.add(one.intValue()));
        return found;
    }

    private static TopicPartition name(JsonNode one) {
        return new TopicPartition(one.get("topic").textValue(), one.get("partition").intValue());
    }

    private Partition partition(JsonNode command) {
        Partition found = partitions.get(name(command));
        if (found == null) {
            throw Errors.NOT_LEADER_OR_FOLLOWER.exception();
        }
        return found;
    }

    // As a leader.

    /** Each value is a batch. */
    private long append(JsonNode command) {
        Partition partition = partition(command);
        for (JsonNode value : command.get("values")) {
            MemoryRecords records = MemoryRecords.withRecords(
                Compression.NONE, new SimpleRecord(time.milliseconds(), value.textValue().getBytes()));
            Forms.append(partition, records);
        }
        return partition.localLogOrException().logEndOffset();
    }

    private void serve(JsonNode command, ObjectNode told) {
        int maxBytes = command.get("maxBytes").intValue();
        FetchParams params = new FetchParams(
            command.get("replica").intValue(), command.get("replicaEpoch").longValue(), 0, 1, maxBytes,
            FetchIsolation.LOG_END, Optional.empty());
        LogReadInfo read = partition(command).fetchRecords(
            params, Fetchers.asked(command, maxBytes), time.milliseconds(), maxBytes, true, true);
        told.put("highWatermark", Forms.highWatermark(read));
        Forms.divergingEpoch(read).ifPresent(end ->
            told.putObject("diverging").put("epoch", end.epoch()).put("end", end.endOffset()));
        tellBatches(told.putArray("batches"), Forms.records(read));
    }

    private void altered(JsonNode command) {
        AlterPartitionResponseData data = new AlterPartitionResponseData().setErrorCode(command.get("error").shortValue());
        Map<Uuid, AlterPartitionResponseData.TopicData> byTopic = new HashMap<>();
        for (JsonNode one : command.get("answers")) {
            Uuid id = Uuid.fromString(one.get("topicId").textValue());
            AlterPartitionResponseData.TopicData topic = byTopic.computeIfAbsent(id, key -> {
                data.topics().add(new AlterPartitionResponseData.TopicData().setTopicId(key));
                return data.topics().get(data.topics().size() - 1);
            });
            topic.partitions().add(new AlterPartitionResponseData.PartitionData()
                .setPartitionIndex(one.get("partition").intValue()).setErrorCode(one.get("error").shortValue())
                .setLeaderId(one.get("leader").intValue()).setLeaderEpoch(one.get("leaderEpoch").intValue())
                .setIsr(ids(one.get("isr"))).setPartitionEpoch(one.get("partitionEpoch").intValue())
                .setLeaderRecoveryState(one.get("recoveryState").numberValue().byteValue()));
        }
        channel.answer(command.get("number").intValue(), new AlterPartitionResponse(data));
    }

    private void tell(int number, AbstractRequest request) {
        AlterPartitionRequestData data = ((AlterPartitionRequest) request).data();
        ObjectNode told = requests.addObject().put("number", number).put("brokerEpoch", data.brokerEpoch());
        ArrayNode asked = told.putArray("partitions");
        for (AlterPartitionRequestData.TopicData topic : data.topics()) {
            for (AlterPartitionRequestData.PartitionData one : topic.partitions()) {
                ArrayNode isr = asked.addObject().put("topicId", topic.topicId().toString())
                    .put("partition", one.partitionIndex()).put("leaderEpoch", one.leaderEpoch())
                    .put("partitionEpoch", one.partitionEpoch()).put("recoveryState", one.leaderRecoveryState())
                    .putArray("isr");
                one.newIsrWithEpochs().forEach(member -> isr.addArray().add(member.brokerId()).add(member.brokerEpoch()));
            }
        }
    }

    // As a follower.

    /** The next fetch of a partition, if there is one. */
    private void poll(JsonNode command, ObjectNode told) {
        FetchRequest.PartitionData asked = fetchers.poll(name(command));
        if (asked != null) {
            told.put("fetchOffset", asked.fetchOffset).put("leaderEpoch", asked.currentLeaderEpoch.orElse(-1))
                .put("lastFetchedEpoch", asked.lastFetchedEpoch.orElse(-1));
        }
    }

    // What is told.

    private void tellLogs(ObjectNode told) {
        ArrayNode found = told.putArray("logs");
        for (UnifiedLog log : logs.all()) {
            ObjectNode one = found.addObject().put("topic", log.topicPartition().topic())
                .put("partition", log.topicPartition().partition())
                .put("topicId", log.topicId().get().toString());
            tellLog(one, log);
        }
    }

    private void tellPartitions(ArrayNode told) {
        partitions.forEach((name, partition) -> partition.unifiedLog().ifPresent(log -> {
            ObjectNode one = told.addObject().put("topicId", partition.topicId().get().toString())
                .put("partition", name.partition()).put("leads", partition.isLeader())
                .put("leaderEpoch", partition.getLeaderEpoch()).put("partitionEpoch", partition.getPartitionEpoch())
                .put("asks", partition.partitionState().isInflight());
            Forms.eachInSync(partition, one.putArray("isr")::add);
            Forms.eachInMaximalIsr(partition, one.putArray("maximalIsr")::add);
            ObjectNode ends = one.putObject("followers");
            for (Replica replica : CollectionConverters.asJava(partition.remoteReplicas())) {
                ends.put(String.valueOf(replica.brokerId()), replica.stateSnapshot().logEndOffset());
            }
            tellLog(one, log);
        }));
    }

    /** The batches that were not told yet, and from where on. */
    private void tellLog(ObjectNode told, UnifiedLog log) {
        long from = Math.min(toldEnds.getOrDefault(log.topicPartition(), 0L), log.logEndOffset());
        told.put("from", from).put("highWatermark", log.highWatermark()).put("lastEpoch", log.latestEpoch().orElse(-1));
        ArrayNode batches = told.putArray("batches");
        try {
            if (from < log.logEndOffset()) {
                tellBatches(batches, log.read(from, Integer.MAX_VALUE, FetchIsolation.LOG_END, true).records);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        toldEnds.put(log.topicPartition(), log.logEndOffset());
    }

    private static void tellBatches(ArrayNode told, Records records) {
        for (RecordBatch batch : StreamSupport.stream(records.batches().spliterator(), false).toList()) {
            ByteBuffer bytes = ByteBuffer.allocate(batch.sizeInBytes());
            batch.writeTo(bytes);
            told.addObject().put("epoch", batch.partitionLeaderEpoch()).put("data", bytes.array());
        }
    }
}
