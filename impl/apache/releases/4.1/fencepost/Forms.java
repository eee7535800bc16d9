package fencepost;

import kafka.cluster.Partition;
import kafka.server.ReplicaManager;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData.EpochEndOffset;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogReadInfo;
import org.apache.kafka.storage.internals.log.VerificationGuard;

import java.util.Optional;
import java.util.function.IntConsumer;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** Partitions and what they answer, as this release has them. */
final class Forms {
    private static final int ACKS_OF_ALL = -1;

    private Forms() {
    }

    static void lead(Partition partition, PartitionRegistration registration, boolean isNew, Uuid topicId) {
        partition.makeLeader(
            asked(partition, registration, isNew), (directory, one) -> Optional.empty(), Option.apply(topicId),
            Option.empty());
    }

    /** Whether it has another leader than before. */
    static boolean follow(Partition partition, PartitionRegistration registration, boolean isNew, Uuid topicId) {
        return partition.makeFollower(
            asked(partition, registration, isNew), (directory, one) -> Optional.empty(), Option.apply(topicId),
            Option.empty());
    }

    private static LeaderAndIsrRequest.PartitionState asked(
        Partition partition, PartitionRegistration registration, boolean isNew
    ) {
        return registration.toLeaderAndIsrPartitionState(partition.topicPartition(), isNew);
    }

    static void append(Partition partition, MemoryRecords records) {
        partition.appendRecordsToLeader(
            records, AppendOrigin.CLIENT, ACKS_OF_ALL, RequestLocal.noCaching(), VerificationGuard.SENTINEL);
    }

    static long highWatermark(LogReadInfo read) {
        return read.highWatermark;
    }

    static Optional<EpochEndOffset> divergingEpoch(LogReadInfo read) {
        return read.divergingEpoch;
    }

    static Records records(LogReadInfo read) {
        return read.fetchedData.records;
    }

    static void eachInSync(Partition partition, IntConsumer tell) {
        CollectionConverters.asJava(partition.partitionState().isr()).forEach(id -> tell.accept((Integer) id));
    }

    static void eachInMaximalIsr(Partition partition, IntConsumer tell) {
        CollectionConverters.asJava(partition.partitionState().maximalIsr()).forEach(id -> tell.accept((Integer) id));
    }

    /** A manager of replicas that is allocated, not constructed. */
    static class Managing extends ReplicaManager {
        Managing() {
            super(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
                null, null, null, null, null, null, null);
        }
    }
}
