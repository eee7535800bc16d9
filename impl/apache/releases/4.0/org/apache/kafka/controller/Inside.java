package org.apache.kafka.controller;

import org.apache.kafka.metadata.BrokerRegistration;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** What Kafka shows to its own package only. */
public final class Inside {
    /** The tag of the event that looks after leases. */
    public static final String LEASE_CHECK = "maybeFenceStaleBroker";

    private Inside() {
    }

    /** Of an active controller, by broker. */
    public static List<Told.Session> sessions(QuorumController controller) {
        List<Told.Session> found = new ArrayList<>();
        if (controller.curClaimEpoch() == -1) {
            return found;
        }
        BrokerHeartbeatManager manager = controller.clusterControl().heartbeatManager();
        manager.brokers().forEach(broker -> {
            long epoch = controller.clusterControl().brokerRegistrations().get(broker.id()).epoch();
            OptionalLong contact = manager.tracker().contactTime(new BrokerIdAndEpoch(broker.id(), epoch));
            OptionalLong shutdown = manager.controlledShutdownOffset(broker.id());
            found.add(new Told.Session(broker.id(), contact.orElse(-1), broker.metadataOffset(), shutdown.orElse(-1)));
        });
        return found;
    }

    /** A broker is heard of: what the threads that take heartbeats do with each before it is queued. */
    public static void contact(QuorumController controller, int brokerId, long brokerEpoch) {
        controller.clusterControl().trackBrokerHeartbeat(brokerId, brokerEpoch);
    }

    /**
     * Run something that looks for one broker whose lease has run out, and let it find none but this one.
     *
     * Which one Kafka finds first goes by the order of a hash table; what it still has of earlier epochs it drops.
     */
    public static void findOnly(QuorumController controller, int brokerId, Runnable search) {
        Map<BrokerIdAndEpoch, Long> contacts = contacts(controller);
        Map<BrokerIdAndEpoch, Long> others = new HashMap<>(contacts);
        BrokerRegistration held = controller.clusterControl().brokerRegistrations().get(brokerId);
        others.keySet().removeIf(one -> held != null && one.equals(new BrokerIdAndEpoch(brokerId, held.epoch())));
        contacts.keySet().removeAll(others.keySet());
        search.run();
        contacts(controller).putAll(others);
    }

    /** Who has been heard of is in the tracker, not with the broker. */
    public static OptionalLong contactNs(Object broker) {
        return OptionalLong.empty();
    }

    /** It is a broker's epoch that was issued before the end of the log, and that the broker has no more. */
    public static boolean isOver(QuorumController controller, Object contact, long endOffset) {
        BrokerIdAndEpoch one = (BrokerIdAndEpoch) contact;
        BrokerRegistration held = controller.clusterControl().brokerRegistrations().get(one.id());
        return one.epoch() < endOffset && (held == null || held.epoch() != one.epoch());
    }

    /** An event with this tag decides nothing. */
    public static boolean isIdle(QuorumController controller, Object tag) {
        return false;
    }

    @SuppressWarnings("unchecked")
    private static Map<BrokerIdAndEpoch, Long> contacts(QuorumController controller) {
        BrokerHeartbeatTracker tracker = controller.clusterControl().heartbeatManager().tracker();
        try {
            var field = BrokerHeartbeatTracker.class.getDeclaredField("contactTimes");
            field.setAccessible(true);
            return (Map<BrokerIdAndEpoch, Long>) field.get(tracker);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
