package fencepost;

import org.apache.kafka.clients.RequestCompletionHandler;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.common.NodeToControllerChannelManager;

/** A broker's way to the active controller, as a release calls it. */
abstract class ToController implements NodeToControllerChannelManager {
    abstract void send(AbstractRequest request, RequestCompletionHandler handler);

    @Override
    public void sendRequest(
        AbstractRequest.Builder<? extends AbstractRequest> request,
        ControllerRequestCompletionHandler handler
    ) {
        send(request.build(), handler);
    }

    static void giveUp(RequestCompletionHandler handler) {
        ((ControllerRequestCompletionHandler) handler).onTimeout();
    }
}
