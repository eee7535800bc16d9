package fencepost;

import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.controller.ControllerRequestContext;
import org.apache.kafka.controller.QuorumController;
import org.apache.kafka.controller.QuorumFeatures;
import org.apache.kafka.metadata.VersionRange;

import java.util.Map;
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

    /** Those that a node supports, with their versions. */
    static Map<String, VersionRange> features() {
        return QuorumFeatures.defaultSupportedFeatureMap(false);
    }
}
