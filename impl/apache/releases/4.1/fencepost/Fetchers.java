package fencepost;

import com.fasterxml.jackson.databind.JsonNode;

import jdk.internal.misc.Unsafe;

import kafka.cluster.Partition;
import kafka.server.FailedPartitions;
import kafka.server.InitialFetchState;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaAlterLogDirsManager;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData.OffsetForLeaderPartition;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.server.LeaderEndPoint;
import org.apache.kafka.server.PartitionFetchState;
import org.apache.kafka.server.ReplicaFetch;
import org.apache.kafka.server.ResultWithPartitions;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.network.BrokerEndPoint;
import org.apache.kafka.server.quota.ReplicaQuota;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import scala.Option;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The fetchers of a released broker, one for each leader that it follows, whose threads are not started. */
final class Fetchers {
    private static final ReplicaQuota UNLIMITED = new ReplicaQuota() {
        @Override
        public void record(long bytes) {
        }

        @Override
        public boolean isThrottled(TopicPartition partition) {
            return false;
        }

        @Override
        public boolean isQuotaExceeded() {
            return false;
        }
    };

    private final KafkaConfig config;
    private final Finder finder;
    private final Map<Integer, ReplicaFetcherThread> byLeader = new HashMap<>();
    private final Map<Integer, Leader> leaders = new HashMap<>();
    private final Map<TopicPartition, Integer> followed = new HashMap<>();
    private Errors answered = Errors.NONE;

    Fetchers(KafkaConfig config, Map<TopicPartition, Partition> partitions, BrokerTopicStats stats) {
        this.config = config;
        this.finder = allocated(Finder.class);
        finder.partitions = partitions;
        finder.moves = allocated(NoMoves.class);
        finder.stats = stats;
    }

    /** Begin to follow, as {@code ReplicaManager.startFetching} does. */
    void add(Partition partition, int leader) {
        UnifiedLog log = partition.localLogOrException();
        long from = log.latestEpoch().isPresent() ? log.logEndOffset() : log.highWatermark();
        byLeader.computeIfAbsent(leader, this::made).addPartitions(CollectionConverters.asScala(Map.of(
            partition.topicPartition(),
            new InitialFetchState(partition.topicId(), leaders.get(leader).brokerEndPoint(), partition.getLeaderEpoch(), from))));
        followed.put(partition.topicPartition(), leader);
    }

    void remove(TopicPartition name) {
        Integer leader = followed.remove(name);
        if (leader != null) {
            byLeader.get(leader).removePartitions(CollectionConverters.asScala(Set.of(name)));
        }
    }

    /** What is to be asked for next; null: nothing. */
    FetchRequest.PartitionData poll(TopicPartition name) {
        Integer leader = followed.get(name);
        if (leader == null) {
            return null;
        }
        leaders.get(leader).asks(name);
        byLeader.get(leader).doWork();
        return leaders.get(leader).asked;
    }

    /** The leader has answered what was asked for. */
    void fetched(Partition partition, JsonNode command) {
        int leader = command.get("leader").intValue();
        FetchResponseData.PartitionData data = new FetchResponseData.PartitionData()
            .setPartitionIndex(partition.partitionId()).setErrorCode(command.get("error").shortValue())
            .setHighWatermark(command.get("highWatermark").longValue()).setLogStartOffset(0)
            .setRecords(records(command.get("batches")));
        if (command.has("diverging")) {
            JsonNode end = command.get("diverging");
            data.setDivergingEpoch(new FetchResponseData.EpochEndOffset()
                .setEpoch(end.get("epoch").intValue()).setEndOffset(end.get("end").longValue()));
        }
        answered = Errors.forCode(data.errorCode());
        leaders.get(leader).answer = Map.of(partition.topicPartition(), data);
        byLeader.get(leader).processFetchRequest(
            Map.of(partition.topicPartition(), asked(command, config.replicaFetchMaxBytes())), null);
    }

    /** A partition of a fetch request. */
    static FetchRequest.PartitionData asked(JsonNode command, int maxBytes) {
        int last = command.get("lastFetchedEpoch").intValue();
        return new FetchRequest.PartitionData(
            Uuid.fromString(command.get("topicId").textValue()), command.get("fetchOffset").longValue(), 0, maxBytes,
            Optional.of(command.get("leaderEpoch").intValue()), last < 0 ? Optional.empty() : Optional.of(last));
    }

    private static MemoryRecords records(JsonNode batches) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            for (JsonNode batch : batches) {
                bytes.write(batch.binaryValue());
            }
        } catch (IOException e) {
            throw new IllegalArgumentException(e);
        }
        return MemoryRecords.readableRecords(ByteBuffer.wrap(bytes.toByteArray()));
    }

    private ReplicaFetcherThread made(int leader) {
        leaders.put(leader, new Leader(leader));
        FailedPartitions failed = new FailedPartitions() {
            @Override
            public void add(TopicPartition name) {
                if (answered != Errors.FENCED_LEADER_EPOCH) {
                    throw new IllegalStateException(name + " is not fetched any more");
                }
            }
        };
        return new ReplicaFetcherThread("fetcher", leaders.get(leader), config, failed, finder, UNLIMITED, "");
    }

    private static <T> T allocated(Class<T> type) {
        try {
            return type.cast(Unsafe.getUnsafe().allocateInstance(type));
        } catch (InstantiationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The leader, as a fetcher sees it: it is asked for one partition at a time, and its answer is there already. */
    private static final class Leader implements LeaderEndPoint {
        private final int id;
        private TopicPartition next;
        private FetchRequest.PartitionData asked;
        private Map<TopicPartition, FetchResponseData.PartitionData> answer = Map.of();

        Leader(int id) {
            this.id = id;
        }

        void asks(TopicPartition name) {
            next = name;
            asked = null;
            answer = Map.of();
        }

        @Override
        public ResultWithPartitions<Optional<ReplicaFetch>> buildFetch(Map<TopicPartition, PartitionFetchState> states) {
            PartitionFetchState state = states.get(next);
            if (state == null || !state.isReadyForFetch()) {
                return new ResultWithPartitions<>(Optional.empty(), Set.of());
            }
            asked = new FetchRequest.PartitionData(
                state.topicId().orElse(Uuid.ZERO_UUID), state.fetchOffset(), 0, Integer.MAX_VALUE,
                Optional.of(state.currentLeaderEpoch()), state.lastFetchedEpoch());
            return new ResultWithPartitions<>(Optional.of(new ReplicaFetch(Map.of(next, asked), null)), Set.of());
        }

        @Override
        public Map<TopicPartition, FetchResponseData.PartitionData> fetch(FetchRequest.Builder request) {
            return answer;
        }

        @Override
        public BrokerEndPoint brokerEndPoint() {
            return new BrokerEndPoint(id, "localhost", 9092);
        }

        @Override
        public boolean isTruncationOnFetchSupported() {
            return true;
        }

        @Override
        public void initiateClose() {
        }

        @Override
        public void close() {
        }

        @Override
        public OffsetAndEpoch fetchEarliestOffset(TopicPartition name, int epoch) {
            throw new UnsupportedOperationException("no log here begins above 0");
        }

        @Override
        public OffsetAndEpoch fetchLatestOffset(TopicPartition name, int epoch) {
            throw new UnsupportedOperationException("a leader tells where logs part");
        }

        @Override
        public OffsetAndEpoch fetchEarliestLocalOffset(TopicPartition name, int epoch) {
            throw new UnsupportedOperationException("no log here is elsewhere");
        }

        /** Overrides nothing before 4.3. */
        public OffsetAndEpoch fetchEarliestPendingUploadOffset(TopicPartition name, int epoch) {
            throw new UnsupportedOperationException("no log here is elsewhere");
        }

        @Override
        public Map<TopicPartition, EpochEndOffset> fetchEpochEndOffsets(Map<TopicPartition, OffsetForLeaderPartition> asked) {
            throw new UnsupportedOperationException("fetches tell where logs part");
        }
    }

    /** Of the manager of replicas, what fetchers need: where a partition is. It is allocated, not constructed. */
    private static final class Finder extends Forms.Managing {
        private Map<TopicPartition, Partition> partitions;
        private BrokerTopicStats stats;
        private NoMoves moves;

        @Override
        public Partition getPartitionOrException(TopicPartition name) {
            Partition found = partitions.get(name);
            if (found == null) {
                throw Errors.NOT_LEADER_OR_FOLLOWER.exception();
            }
            return found;
        }

        @Override
        public UnifiedLog localLogOrException(TopicPartition name) {
            return getPartitionOrException(name).localLogOrException();
        }

        @Override
        public Option<UnifiedLog> localLog(TopicPartition name) {
            return Option.apply(partitions.get(name)).flatMap(Partition::log);
        }

        @Override
        public void completeDelayedFetchRequests(Seq<TopicPartition> names) {
        }

        @Override
        public BrokerTopicStats brokerTopicStats() {
            return stats;
        }

        @Override
        public ReplicaAlterLogDirsManager replicaAlterLogDirsManager() {
            return moves;
        }
    }

    /** Of the manager of moves between log directories, that there are none. It is allocated, not constructed. */
    private static final class NoMoves extends ReplicaAlterLogDirsManager {
        private NoMoves() {
            super(null, null, null, null, null);
        }

        @Override
        public void markPartitionsForTruncation(int brokerId, TopicPartition name, long offset) {
        }
    }
}
