package fencepost;

import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.KRaftVersion;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** The part of Raft that a controller sees: a log that is appended to, whose commits are told from outside. */
final class LogClient extends QuietClient {
    final int nodeId;
    long endOffset;
    LeaderAndEpoch leader = LeaderAndEpoch.UNKNOWN;
    Listener<ApiMessageAndVersion> listener;
    private Batch<ApiMessageAndVersion> prepared;
    /** Of a topic that is created; null where none is. */
    Uuid nextTopicId;
    /** Appended, and not yet known to be committed. */
    final ArrayDeque<Batch<ApiMessageAndVersion>> pending = new ArrayDeque<>();
    /** Appended since this was taken last. */
    List<Batch<ApiMessageAndVersion>> appended = new ArrayList<>();

    LogClient(int nodeId) {
        this.nodeId = nodeId;
    }

    List<Batch<ApiMessageAndVersion>> takeAppended() {
        List<Batch<ApiMessageAndVersion>> taken = appended;
        appended = new ArrayList<>();
        return taken;
    }

    /** A control batch, of a leader that begins its epoch: it has an offset, and nothing that a controller replays. */
    static Batch<ApiMessageAndVersion> control(long offset, int epoch) {
        return Batch.control(offset, epoch, 0, 1, List.of(leaderChange()));
    }

    void commit(Batch<ApiMessageAndVersion> batch) {
        listener.handleCommit(new OneBatch(batch));
    }

    /** A snapshot takes the place of the log up to an offset, inclusive. */
    void load(long offset, Batch<ApiMessageAndVersion> records) {
        endOffset = offset + 1;
        listener.handleLoadSnapshot(new OneSnapshot(offset, records));
    }

    @Override
    public void register(Listener<ApiMessageAndVersion> listener) {
        this.listener = listener;
    }

    @Override
    public void unregister(Listener<ApiMessageAndVersion> listener) {
        this.listener = null;
    }

    @Override
    public OptionalLong highWatermark() {
        return OptionalLong.empty();
    }

    @Override
    public LeaderAndEpoch leaderAndEpoch() {
        return leader;
    }

    @Override
    public OptionalInt nodeId() {
        return OptionalInt.of(nodeId);
    }

    /** Overrides nothing before 4.2. */
    public Optional<Node> voterNode(int id, ListenerName listenerName) {
        return Optional.empty();
    }

    @Override
    public long prepareAppend(int epoch, List<ApiMessageAndVersion> records) {
        if (nextTopicId != null) {
            records.forEach(this::rename);
        }
        prepared = Batch.data(endOffset, epoch, 0, records.size(), new ArrayList<>(records));
        return prepared.lastOffset();
    }

    /** Put the id that was asked for in the place of the one that was drawn, before anybody has seen that. */
    private void rename(ApiMessageAndVersion record) {
        if (record.message() instanceof TopicRecord topic) {
            topic.setTopicId(nextTopicId);
        } else if (record.message() instanceof PartitionRecord partition) {
            partition.setTopicId(nextTopicId);
        }
    }

    @Override
    public void schedulePreparedAppend() {
        appended.add(prepared);
        pending.add(prepared);
        endOffset = prepared.lastOffset() + 1;
        prepared = null;
    }

    @Override
    public CompletableFuture<Void> shutdown(int timeoutMs) {
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public void resign(int epoch) {
    }

    @Override
    public long logEndOffset() {
        return endOffset;
    }

    @Override
    public KRaftVersion kraftVersion() {
        return KRaftVersion.KRAFT_VERSION_0;
    }

    @Override
    public void close() {
    }

    /** Reads a snapshot. */
    private static final class OneSnapshot extends QuietReader {
        private final long offset;
        private final int epoch;

        OneSnapshot(long offset, Batch<ApiMessageAndVersion> records) {
            super(offset, records);
            this.offset = offset;
            this.epoch = records.epoch();
        }

        @Override
        public long lastContainedLogOffset() {
            return offset;
        }

        @Override
        public int lastContainedLogEpoch() {
            return epoch;
        }

        @Override
        public long lastContainedLogTimestamp() {
            return 0;
        }
    }
}
