package fencepost;

import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.BatchReader;
import org.apache.kafka.server.common.ApiMessageAndVersion;

import java.util.Iterator;
import java.util.List;
import java.util.OptionalLong;

/** Reads one batch. */
class OneBatch implements BatchReader<ApiMessageAndVersion> {
    private final Iterator<Batch<ApiMessageAndVersion>> batches;
    private final Batch<ApiMessageAndVersion> batch;

    OneBatch(Batch<ApiMessageAndVersion> batch) {
        this.batch = batch;
        this.batches = List.of(batch).iterator();
    }

    @Override
    public long baseOffset() {
        return batch.baseOffset();
    }

    @Override
    public OptionalLong lastOffset() {
        return OptionalLong.of(batch.lastOffset());
    }

    @Override
    public void close() {
    }

    @Override
    public boolean hasNext() {
        return batches.hasNext();
    }

    @Override
    public Batch<ApiMessageAndVersion> next() {
        return batches.next();
    }
}
