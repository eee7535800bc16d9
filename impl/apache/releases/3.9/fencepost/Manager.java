package fencepost;

import kafka.server.BrokerLifecycleManager;
import kafka.server.KafkaConfig;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.BrokerRegistrationRequestData.ListenerCollection;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.NodeToControllerChannelManager;

import scala.collection.immutable.Set;
import scala.runtime.BoxedUnit;

import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Supplier;

/** The released class, as this release makes and starts it: in Scala. */
final class Manager extends BrokerLifecycleManager {
    Manager(KafkaConfig config, Time time) {
        super(config, time, "", false, new Set.Set1<>(new Uuid(1L << 32, 1)), () -> BoxedUnit.UNIT);
        logger(); // made when it is first asked for, which would be a difference between states
    }

    void start(Supplier<Long> appliedOffset, NodeToControllerChannelManager channel) {
        start(appliedOffset::get, channel, "", new ListenerCollection(), Map.of(), OptionalLong.empty());
    }
}
