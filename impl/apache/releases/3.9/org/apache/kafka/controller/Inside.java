package org.apache.kafka.controller;

import org.apache.kafka.controller.BrokerHeartbeatManager.BrokerHeartbeatState;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** What Kafka shows to its own package only. */
public final class Inside {
    /** The tag of the event that looks after leases. */
    public static final String LEASE_CHECK = QuorumController.MAYBE_FENCE_REPLICAS;

    private Inside() {
    }

    /** Of an active controller, by broker. One that is fenced has no lease. */
    public static List<Told.Session> sessions(QuorumController controller) {
        List<Told.Session> found = new ArrayList<>();
        if (controller.curClaimEpoch() == -1) {
            return found;
        }
        BrokerHeartbeatManager manager = controller.clusterControl().heartbeatManager();
        manager.brokers().forEach(broker -> found.add(new Told.Session(
            broker.id(), contactNs(broker).orElse(-1), broker.metadataOffset,
            manager.controlledShutdownOffset(broker.id()).orElse(-1))));
        return found;
    }

    /** A broker is heard of: what becomes of a heartbeat that has waited too long. */
    public static void contact(QuorumController controller, int brokerId, long brokerEpoch) {
        BrokerHeartbeatManager manager = controller.clusterControl().heartbeatManager();
        manager.brokers().stream().filter(one -> one.id() == brokerId).findFirst()
            .ifPresent(one -> manager.touch(brokerId, one.fenced(), one.metadataOffset));
    }

    /**
     * Run something that looks for one broker whose lease has run out, and let it find none but this one.
     *
     * Kafka finds the one first that was heard of first: the others were heard of just now, until it has looked.
     */
    public static void findOnly(QuorumController controller, int brokerId, Runnable search) {
        BrokerHeartbeatManager manager = controller.clusterControl().heartbeatManager();
        Map<BrokerHeartbeatState, Long> others = new LinkedHashMap<>();
        manager.brokers().stream().filter(one -> one.id() != brokerId && !one.fenced())
            .forEach(one -> others.put(one, one.lastContactNs));
        others.keySet().forEach(one -> heardOf(manager, one, manager.time().nanoseconds()));
        search.run();
        others.forEach((one, contactNs) -> heardOf(manager, one, contactNs));
    }

    private static void heardOf(BrokerHeartbeatManager manager, BrokerHeartbeatState broker, long contactNs) {
        manager.unfenced().remove(broker);
        broker.lastContactNs = contactNs;
        manager.unfenced().add(broker);
    }

    /** When a broker was heard of, where it has a lease. */
    public static OptionalLong contactNs(Object broker) {
        BrokerHeartbeatState state = (BrokerHeartbeatState) broker;
        return state.fenced() ? OptionalLong.empty() : OptionalLong.of(state.lastContactNs);
    }

    /** A broker's contact is that of the epoch that it has. */
    public static boolean isOver(QuorumController controller, Object contact, long endOffset) {
        return false;
    }

    /** Where no broker has a lease, the event ends itself; whoever gets one sets it again. */
    public static boolean isIdle(QuorumController controller, Object tag) {
        return LEASE_CHECK.equals(tag) && controller.curClaimEpoch() != -1
            && controller.clusterControl().heartbeatManager().unfenced().first() == null;
    }
}
