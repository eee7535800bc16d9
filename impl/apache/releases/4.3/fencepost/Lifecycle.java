package fencepost;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kafka.server.KafkaConfig;

import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatResponseData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData.ListenerCollection;
import org.apache.kafka.common.message.BrokerRegistrationResponseData;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.BrokerHeartbeatRequest;
import org.apache.kafka.common.requests.BrokerHeartbeatResponse;
import org.apache.kafka.common.requests.BrokerRegistrationResponse;
import org.apache.kafka.server.BrokerLifecycleManager;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.common.NodeToControllerChannelManager;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.concurrent.TimeUnit;

/** A released broker's dealings with the controller about itself, without threads, clock and network. */
final class Lifecycle implements Stepped {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    private final BrokerLifecycleManager manager;
    private final ManualTime time;
    private final Map<Integer, ControllerRequestCompletionHandler> sent = new HashMap<>();
    private ArrayNode requests = JSON.arrayNode();
    private int number;
    private long appliedOffset;

    Lifecycle(JsonNode start, ManualTime time) {
        this.time = time;
        Properties properties = new Properties();
        start.get("configs").properties().forEach(one -> properties.put(one.getKey(), one.getValue().asText()));
        KafkaConfig config = KafkaConfig.fromProps(properties);
        this.manager = new BrokerLifecycleManager(config, time, "", Map.of("/logs", new Uuid(1L << 32, 1)));
    }

    @Override
    public ObjectNode step(JsonNode command) {
        appliedOffset = command.get("appliedOffset").longValue();
        switch (command.get("kind").textValue()) {
            case "start" -> manager.start(
                () -> appliedOffset, new Channel(), "", new ListenerCollection(), Map.of(), OptionalLong.empty());
            case "timer" -> manager.eventQueue().fire(command.get("tag").textValue());
            case "response" -> answer(command);
            case "ready" -> manager.setReadyToUnfence();
            case "shut down" -> manager.beginControlledShutdown();
            default -> throw new IllegalArgumentException("no step is called " + command.get("kind"));
        }
        manager.eventQueue().drain();
        ObjectNode told = JSON.objectNode().put("state", manager.state().value()).put("brokerEpoch", manager.brokerEpoch());
        told.set("requests", requests);
        requests = JSON.arrayNode();
        ObjectNode timers = told.putObject("timers");
        manager.eventQueue().deadlines().forEach((tag, atNs) -> timers.put(tag, TimeUnit.NANOSECONDS.toMillis(atNs)));
        return told;
    }

    private void answer(JsonNode command) {
        ControllerRequestCompletionHandler handler = sent.remove(command.get("number").intValue());
        JsonNode response = command.get("response");
        if (response.isNull()) {
            handler.onTimeout();
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
        handler.onComplete(new ClientResponse(
            null, null, "", time.milliseconds(), time.milliseconds(), false, null, null, body));
    }

    private final class Channel implements NodeToControllerChannelManager {
        @Override
        public void start() {
        }

        @Override
        public void shutdown() {
        }

        @Override
        public Optional<NodeApiVersions> controllerApiVersions() {
            return Optional.empty();
        }

        @Override
        public void sendRequest(
            AbstractRequest.Builder<? extends AbstractRequest> request,
            ControllerRequestCompletionHandler handler
        ) {
            sent.put(++number, handler);
            ObjectNode told = requests.addObject().put("number", number);
            if (request.build() instanceof BrokerHeartbeatRequest heartbeat) {
                BrokerHeartbeatRequestData data = heartbeat.data();
                told.put("brokerEpoch", data.brokerEpoch()).put("metadataOffset", data.currentMetadataOffset())
                    .put("wantFence", data.wantFence()).put("wantShutDown", data.wantShutDown());
            }
        }

        @Override
        public long getTimeoutMs() {
            return 1_000;
        }
    }
}
