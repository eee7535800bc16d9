package fencepost;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.controller.ControllerRequestContext;
import org.apache.kafka.controller.QuorumController;

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
        return controller.createTopics(context, request, Set.of());
    }

    static Stepped lifecycle(JsonNode command) {
        throw new IllegalArgumentException("brokers of releases before 4.3 are not driven");
    }
}
