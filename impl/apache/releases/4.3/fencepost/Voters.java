package fencepost;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.raft.SteppedVoter;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.HashMap;
import java.util.Map;

/** Released voters, and lifecycles of brokers, by number, each of which takes steps: frames as those of Server. */
final class Voters {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final Map<Integer, Stepped> nodes = new HashMap<>();
    private final Map<Integer, ManualTime> times = new HashMap<>();

    public static void main(String[] arguments) throws IOException, ReflectiveOperationException {
        Orders.fix();
        PrintStream out = System.out;
        System.setOut(System.err); // whatever Kafka prints must not come between two frames
        DataInputStream input = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream output = new DataOutputStream(new BufferedOutputStream(out, 1 << 16));
        Voters voters = new Voters();
        while (true) {
            byte[] frame;
            try {
                frame = new byte[input.readInt()];
            } catch (EOFException e) {
                return;
            }
            input.readFully(frame);
            byte[] answer = MAPPER.writeValueAsBytes(voters.answer(MAPPER.readTree(frame)));
            output.writeInt(answer.length);
            output.write(answer);
            output.flush();
        }
    }

    private ObjectNode answer(JsonNode command) {
        int node = command.get("node").intValue();
        try {
            if (command.get("kind").textValue().equals("start")) {
                ManualTime time = new ManualTime();
                time.nowMs = command.get("nowMs").longValue();
                times.put(node, time);
                nodes.put(node, command.has("log") ? new SteppedVoter(command, time)::step : new Lifecycle(command, time));
            }
            times.get(node).nowMs = command.get("nowMs").longValue();
            return nodes.get(node).step(command);
        } catch (Exception e) {
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace));
            return JsonNodeFactory.instance.objectNode().put("error", trace.toString());
        }
    }
}
