package fencepost;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.raft.SteppedVoter;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** Released voters, and brokers, by number, each of which takes steps. */
final class Voters {
    private final Map<Integer, Stepped> nodes = new HashMap<>();
    private final Map<Integer, ManualTime> times = new HashMap<>();

    public static void main(String[] arguments) throws IOException, ReflectiveOperationException {
        Orders.fix();
        Frames.serve(new Voters()::answer);
    }

    private ObjectNode answer(JsonNode command) {
        int node = command.get("node").intValue();
        try {
            boolean isVoter = command.has("log");
            if (isVoter || command.get("kind").textValue().equals("open")) {
                ManualTime time = new ManualTime();
                time.nowMs = command.get("nowMs").longValue();
                if (nodes.containsKey(node)) {
                    nodes.get(node).close();
                }
                times.put(node, time);
                nodes.put(node, isVoter ? new SteppedVoter(command, time)::step : Broker.of(command, time));
            }
            times.get(node).nowMs = command.get("nowMs").longValue();
            return nodes.get(node).step(command);
        } catch (Exception e) {
            return Frames.error(e);
        }
    }
}
