package fencepost;

import kafka.server.KafkaConfig;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.BrokerRegistrationRequestData.ListenerCollection;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.BrokerLifecycleManager;
import org.apache.kafka.server.common.NodeToControllerChannelManager;

import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Supplier;

/** The released class, as this release makes and starts it. */
final class Manager extends BrokerLifecycleManager {
    Manager(KafkaConfig config, Time time) {
        super(config, time, "", Map.of(config.logDirs().get(0), new Uuid(1L << 32, 1)));
    }

    void start(Supplier<Long> appliedOffset, NodeToControllerChannelManager channel) {
        start(appliedOffset, channel, "", new ListenerCollection(), Map.of(), OptionalLong.empty());
    }
}
