package fencepost;

import com.fasterxml.jackson.databind.JsonNode;

import kafka.server.KafkaConfig;

import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.controller.ControllerRequestContext;
import org.apache.kafka.controller.QuorumController;

import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** What is called otherwise in other releases. */
final class Release {
    private Release() {
    }

    static CompletableFuture<CreateTopicsResponseData> createTopics(
        QuorumController controller,
        ControllerRequestContext context,
        CreateTopicsRequestData request
    ) {
        return controller.createTopics(context, request, Set.of(), false);
    }

    static Stepped lifecycle(JsonNode command) {
        Properties properties = new Properties();
        command.get("configs").properties().forEach(one -> properties.put(one.getKey(), one.getValue().asText()));
        return new Lifecycle(KafkaConfig.fromProps(properties), new ManualTime());
    }
}
