package org.apache.kafka.raft;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.RawSnapshotReader;
import org.apache.kafka.snapshot.RawSnapshotWriter;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The metadata log of a voter as a list of batches: what is done to it is told, and done to a disk elsewhere.
 *
 * Ends of epochs are those of KafkaRaftLog. It has no snapshots.
 */
final class ListedLog implements RaftLog {
    /** What is done to a log, in order. */
    interface Told {
        void appended(byte[] batches, int epoch);

        void truncated(long endOffset);

        void flushed(long endOffset);
    }

    private record Batch(long baseOffset, long endOffset, int epoch, byte[] data) {
    }

    private final List<Batch> batches = new ArrayList<>();
    /** By epoch, where it starts. */
    private final TreeMap<Integer, Long> starts = new TreeMap<>();
    private final Told told;
    private long highWatermark;

    ListedLog(byte[] stored, Told told) {
        add(MemoryRecords.readableRecords(ByteBuffer.wrap(stored)));
        this.told = told;
    }

    /** Takes batches over; their bytes. */
    private byte[] add(Records records) {
        List<Batch> added = new ArrayList<>();
        int size = 0;
        for (MutableRecordBatch batch : ((MemoryRecords) records).batches()) {
            if (batch.baseOffset() != end()) {
                throw new IllegalArgumentException("a batch at offset " + batch.baseOffset() + ", not " + end());
            }
            ByteBuffer buffer = ByteBuffer.allocate(batch.sizeInBytes());
            batch.writeTo(buffer);
            Batch one = new Batch(batch.baseOffset(), batch.nextOffset(), batch.partitionLeaderEpoch(), buffer.array());
            starts.putIfAbsent(one.epoch, one.baseOffset);
            batches.add(one);
            added.add(one);
            size += one.data.length;
        }
        ByteBuffer all = ByteBuffer.allocate(size);
        added.forEach(one -> all.put(one.data));
        return all.array();
    }

    private LogAppendInfo append(Records records, int epoch) {
        long first = end();
        byte[] data = add(records);
        told.appended(data, epoch);
        return new LogAppendInfo(first, end() - 1);
    }

    private long end() {
        return batches.isEmpty() ? 0 : batches.get(batches.size() - 1).endOffset;
    }

    @Override
    public LogAppendInfo appendAsLeader(Records records, int epoch) {
        return append(records, epoch);
    }

    @Override
    public LogAppendInfo appendAsFollower(Records records, int epoch) {
        return append(records, epoch);
    }

    /** Overrides nothing from 4.3 on. */
    public LogFetchInfo read(long startOffset, Isolation isolation) {
        return read(startOffset, isolation, KafkaRaftClient.MAX_BATCH_SIZE_BYTES);
    }

    /** Overrides nothing before 4.3. */
    public LogFetchInfo read(long startOffset, Isolation isolation, int maxBytes) {
        long before = isolation == Isolation.COMMITTED ? highWatermark : end();
        List<Batch> found = new ArrayList<>();
        int size = 0;
        for (Batch one : batches) {
            boolean isWanted = one.endOffset > startOffset && one.endOffset <= before;
            if (isWanted && !found.isEmpty() && size + one.data.length > maxBytes) {
                break;
            }
            if (isWanted) {
                found.add(one);
                size += one.data.length;
            }
        }
        ByteBuffer data = ByteBuffer.allocate(size);
        found.forEach(one -> data.put(one.data));
        return new LogFetchInfo(MemoryRecords.readableRecords(data.flip()), new LogOffsetMetadata(startOffset));
    }

    @Override
    public int lastFetchedEpoch() {
        return batches.isEmpty() ? 0 : batches.get(batches.size() - 1).epoch;
    }

    @Override
    public OffsetAndEpoch endOffsetForEpoch(int epoch) {
        if (starts.isEmpty() || epoch > starts.lastKey()) {
            return new OffsetAndEpoch(end(), lastFetchedEpoch());
        }
        Map.Entry<Integer, Long> floor = starts.floorEntry(epoch);
        Map.Entry<Integer, Long> next = starts.higherEntry(epoch);
        long endOffset = next == null ? end() : next.getValue();
        return new OffsetAndEpoch(endOffset, floor == null ? epoch : floor.getKey());
    }

    @Override
    public LogOffsetMetadata endOffset() {
        return new LogOffsetMetadata(end());
    }

    @Override
    public LogOffsetMetadata highWatermark() {
        return new LogOffsetMetadata(highWatermark);
    }

    @Override
    public void updateHighWatermark(LogOffsetMetadata metadata) {
        highWatermark = metadata.offset();
    }

    @Override
    public long startOffset() {
        return 0;
    }

    @Override
    public void initializeLeaderEpoch(int epoch) {
        starts.putIfAbsent(epoch, end());
    }

    @Override
    public void truncateTo(long offset) {
        if (offset < highWatermark) {
            throw new IllegalArgumentException("a truncation to " + offset + ", and " + highWatermark + " is committed");
        }
        batches.removeIf(one -> one.endOffset > offset);
        starts.values().removeIf(start -> start >= offset);
        told.truncated(offset);
    }

    @Override
    public void flush(boolean forceFlushActiveSegment) {
        told.flushed(end());
    }

    @Override
    public TopicPartition topicPartition() {
        return Topic.CLUSTER_METADATA_TOPIC_PARTITION;
    }

    @Override
    public Uuid topicId() {
        return Uuid.METADATA_TOPIC_ID;
    }

    @Override
    public boolean truncateToLatestSnapshot() {
        return false;
    }

    @Override
    public boolean deleteBeforeSnapshot(OffsetAndEpoch snapshotId) {
        return false;
    }

    @Override
    public boolean maybeClean() {
        return false;
    }

    @Override
    public Optional<RawSnapshotWriter> createNewSnapshot(OffsetAndEpoch snapshotId) {
        throw new UnsupportedOperationException("no snapshots here");
    }

    @Override
    public Optional<RawSnapshotWriter> createNewSnapshotUnchecked(OffsetAndEpoch snapshotId) {
        throw new UnsupportedOperationException("no snapshots here");
    }

    @Override
    public Optional<RawSnapshotReader> readSnapshot(OffsetAndEpoch snapshotId) {
        return Optional.empty();
    }

    @Override
    public Optional<RawSnapshotReader> latestSnapshot() {
        return Optional.empty();
    }

    @Override
    public Optional<OffsetAndEpoch> latestSnapshotId() {
        return Optional.empty();
    }

    @Override
    public Optional<OffsetAndEpoch> earliestSnapshotId() {
        return Optional.empty();
    }

    @Override
    public void onSnapshotFrozen(OffsetAndEpoch snapshotId) {
    }
}
