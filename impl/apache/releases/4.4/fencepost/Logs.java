package fencepost;

import kafka.server.KafkaConfig;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.partition.AlterPartitionManager;
import org.apache.kafka.server.partition.DefaultAlterPartitionManager;
import org.apache.kafka.server.util.FileLock;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogManager;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** The logs of a released broker, on disk. */
final class Logs {
    final LogManager manager;

    /** configs: of a topic, by its name. */
    Logs(KafkaConfig config, ManualTime time, Function<String, Properties> configs) throws Exception {
        this.manager = kafka.log.LogManager.apply(
            config, Set.of(), resource -> configs.apply(resource.name()), new Scheduled(time), time,
            new BrokerTopicStats(), new LogDirFailureChannel(1));
        // what has no topic id is stray (LogManager.isStrayReplica); what is not placed here is told to be deleted
        manager.loadLogs(manager.currentDefaultConfig(), Map.of(), log -> log.topicId().isEmpty());
    }

    static AlterPartitionManager isrs(Channel channel, Scheduled scheduled, ManualTime time, int id, LongSupplier epoch) {
        return new DefaultAlterPartitionManager(channel, scheduled, id, epoch::getAsLong);
    }

    Collection<UnifiedLog> all() {
        return manager.allLogs();
    }

    void delete(TopicPartition name) {
        manager.asyncDelete(name, false, false, false);
    }

    /** The process dies: the records in the files stay as they are, for a segment that is closed writes none. */
    void close() {
        try {
            for (UnifiedLog log : all()) {
                for (LogSegment segment : log.logSegments()) {
                    segment.close();
                }
            }
            for (FileLock lock : manager.dirLocks()) {
                lock.destroy();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
