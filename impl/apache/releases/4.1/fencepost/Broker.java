package fencepost;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kafka.server.KafkaConfig;

import java.util.Properties;
import java.util.Set;

/** A process of a released broker: its lifecycle, and its replicas. */
final class Broker implements Stepped {
    private static final Set<String> OF_LIFECYCLE = Set.of("start", "timer", "response", "ready", "shut down");

    private final Lifecycle lifecycle;
    private final Replicas replicas;

    static Stepped of(JsonNode open, ManualTime time) throws Exception {
        return new Broker(open, time);
    }

    private Broker(JsonNode open, ManualTime time) throws Exception {
        Properties properties = new Properties();
        open.get("configs").properties().forEach(one -> properties.put(one.getKey(), one.getValue().asText()));
        KafkaConfig config = KafkaConfig.fromProps(properties);
        this.lifecycle = new Lifecycle(config, time);
        this.replicas = new Replicas(config, time, lifecycle::brokerEpoch);
    }

    @Override
    public ObjectNode step(JsonNode command) throws Exception {
        boolean isOfLifecycle = OF_LIFECYCLE.contains(command.get("kind").textValue());
        return isOfLifecycle ? lifecycle.step(command) : replicas.step(command);
    }

    @Override
    public void close() {
        replicas.close();
    }
}
