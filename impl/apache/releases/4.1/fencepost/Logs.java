package fencepost;

import kafka.log.LogManager;
import kafka.server.KafkaConfig;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.partition.AlterPartitionManager;
import org.apache.kafka.server.partition.DefaultAlterPartitionManager;
import org.apache.kafka.server.util.FileLock;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.Function;
import java.util.function.LongSupplier;

import scala.jdk.javaapi.CollectionConverters;

/** The logs of a released broker, on disk. */
final class Logs {
    final LogManager manager;

    /** configs: of a topic, by its name. */
    Logs(KafkaConfig config, ManualTime time, Function<String, Properties> configs) {
        this.manager = LogManager.apply(
            config, CollectionConverters.asScala(List.<String>of()).toSeq(), resource -> configs.apply(resource.name()),
            new Scheduled(time), time, new BrokerTopicStats(), new LogDirFailureChannel(1));
        // what has no topic id is stray (LogManager.isStrayReplica); what is not placed here is told to be deleted
        manager.loadLogs(
            manager.currentDefaultConfig(), CollectionConverters.asScala(Map.of()), log -> log.topicId().isEmpty());
    }

    static AlterPartitionManager isrs(Channel channel, Scheduled scheduled, ManualTime time, int id, LongSupplier epoch) {
        return new DefaultAlterPartitionManager(channel, scheduled, time, id, epoch::getAsLong);
    }

    Collection<UnifiedLog> all() {
        return CollectionConverters.asJavaCollection(manager.allLogs());
    }

    void delete(TopicPartition name) {
        manager.asyncDelete(name, false, false, false);
    }

    /** The process dies: what is in the files stays there, and nothing more is written. */
    void close() {
        all().forEach(UnifiedLog::closeHandlers);
        for (FileLock lock : CollectionConverters.asJava(manager.dirLocks())) {
            try {
                lock.destroy();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
