package fencepost;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kafka.server.KafkaConfig;

import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatResponseData;
import org.apache.kafka.common.message.BrokerRegistrationResponseData;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.BrokerHeartbeatRequest;
import org.apache.kafka.common.requests.BrokerHeartbeatResponse;
import org.apache.kafka.common.requests.BrokerRegistrationResponse;

import java.util.Properties;
import java.util.concurrent.TimeUnit;

/** A released broker's dealings with the controller about itself, without threads, clock and network. */
final class Lifecycle implements Stepped {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    private final Manager manager;
    private final ManualTime time;
    private final Channel channel;
    private ArrayNode requests = JSON.arrayNode();
    private long appliedOffset;

    Lifecycle(KafkaConfig config, ManualTime time) {
        this.time = time;
        this.channel = new Channel(time, this::tell);
        this.manager = new Manager(config, time);
    }

    /** One by itself, before it starts. */
    static Lifecycle of(JsonNode configs) {
        Properties properties = new Properties();
        configs.properties().forEach(one -> properties.put(one.getKey(), one.getValue().asText()));
        return new Lifecycle(KafkaConfig.fromProps(properties), new ManualTime());
    }

    long brokerEpoch() {
        return manager.brokerEpoch();
    }

    @Override
    public ObjectNode step(JsonNode command) {
        time.nowMs = command.get("nowMs").longValue();
        appliedOffset = command.get("appliedOffset").longValue();
        switch (command.get("kind").textValue()) {
            case "start" -> manager.start(() -> appliedOffset, channel);
            case "timer" -> manager.eventQueue().fire(command.get("tag").textValue());
            case "response" -> answer(command.get("number").intValue(), command.get("response"));
            case "ready" -> manager.setReadyToUnfence();
            case "shut down" -> manager.beginControlledShutdown();
            default -> throw new IllegalArgumentException("no step is called " + command.get("kind"));
        }
        manager.eventQueue().drain();
        ObjectNode told = JSON.objectNode().put("brokerState", manager.state().value()).put("brokerEpoch", manager.brokerEpoch());
        told.set("requests", requests);
        requests = JSON.arrayNode();
        ObjectNode timers = told.putObject("timers");
        manager.eventQueue().deadlines().forEach((tag, atNs) -> timers.put(tag, TimeUnit.NANOSECONDS.toMillis(atNs)));
        return told;
    }

    private void answer(int number, JsonNode response) {
        if (response.isNull()) {
            channel.giveUp(number);
            return;
        }
        short error = response.get("error").shortValue();
        AbstractResponse body = response.has("brokerEpoch")
            ? new BrokerRegistrationResponse(new BrokerRegistrationResponseData()
                .setErrorCode(error).setBrokerEpoch(response.get("brokerEpoch").longValue()))
            : new BrokerHeartbeatResponse(new BrokerHeartbeatResponseData().setErrorCode(error)
                .setIsCaughtUp(response.get("isCaughtUp").booleanValue())
                .setIsFenced(response.get("isFenced").booleanValue())
                .setShouldShutDown(response.get("shouldShutDown").booleanValue()));
        channel.answer(number, body);
    }

    private void tell(int number, AbstractRequest request) {
        ObjectNode told = requests.addObject().put("number", number);
        if (request instanceof BrokerHeartbeatRequest heartbeat) {
            BrokerHeartbeatRequestData data = heartbeat.data();
            told.put("brokerEpoch", data.brokerEpoch()).put("metadataOffset", data.currentMetadataOffset())
                .put("wantFence", data.wantFence()).put("wantShutDown", data.wantShutDown());
        }
    }
}
