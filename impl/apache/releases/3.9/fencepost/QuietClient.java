package fencepost;

import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.ControlRecord;
import org.apache.kafka.raft.OffsetAndEpoch;
import org.apache.kafka.raft.RaftClient;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.snapshot.SnapshotReader;
import org.apache.kafka.snapshot.SnapshotWriter;

import java.util.Optional;

/** What a release's RaftClient offers and no controller under test asks for. */
abstract class QuietClient implements RaftClient<ApiMessageAndVersion> {
    static ControlRecord leaderChange() {
        return new ControlRecord(ControlRecordType.LEADER_CHANGE, new LeaderChangeMessage());
    }

    @Override
    public Optional<SnapshotWriter<ApiMessageAndVersion>> createSnapshot(OffsetAndEpoch id, long lastContainedLogTime) {
        return Optional.empty();
    }

    @Override
    public Optional<OffsetAndEpoch> latestSnapshotId() {
        return Optional.empty();
    }

    /** A snapshot that stands for the log up to an offset, inclusive. */
    abstract static class QuietReader extends OneBatch implements SnapshotReader<ApiMessageAndVersion> {
        private final OffsetAndEpoch id;

        QuietReader(long offset, Batch<ApiMessageAndVersion> records) {
            super(records);
            id = new OffsetAndEpoch(offset + 1, records.epoch());
        }

        @Override
        public OffsetAndEpoch snapshotId() {
            return id;
        }
    }
}
