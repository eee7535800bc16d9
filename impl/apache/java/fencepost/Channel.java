package fencepost;

import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.common.NodeToControllerChannelManager;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;

/** A broker's way to the active controller: what is sent is told, with a number, and answered by hand. */
final class Channel implements NodeToControllerChannelManager {
    private final ManualTime time;
    private final BiConsumer<Integer, AbstractRequest> told;
    private final Map<Integer, ControllerRequestCompletionHandler> sent = new HashMap<>();

    Channel(ManualTime time, BiConsumer<Integer, AbstractRequest> told) {
        this.time = time;
        this.told = told;
    }

    void answer(int number, AbstractResponse body) {
        sent.remove(number).onComplete(new ClientResponse(
            null, null, "", time.milliseconds(), time.milliseconds(), false, null, null, body));
    }

    void giveUp(int number) {
        sent.remove(number).onTimeout();
    }

    @Override
    public void sendRequest(
        AbstractRequest.Builder<? extends AbstractRequest> request,
        ControllerRequestCompletionHandler handler
    ) {
        int number = sent.keySet().stream().max(Integer::compare).orElse(0) + 1;
        sent.put(number, handler);
        told.accept(number, request.build());
    }

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
    public long getTimeoutMs() {
        return 1_000;
    }
}
