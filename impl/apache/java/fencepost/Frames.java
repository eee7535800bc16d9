package fencepost;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.function.Function;

/** Frames on standard input, each answered by one on standard output: four bytes of length, and a JSON object. */
final class Frames {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Frames() {
    }

    /** Answer until the input ends. */
    static void serve(Function<JsonNode, ObjectNode> answering) throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err); // whatever Kafka prints must not come between two frames
        DataInputStream input = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream output = new DataOutputStream(new BufferedOutputStream(out, 1 << 16));
        while (true) {
            byte[] frame;
            try {
                frame = new byte[input.readInt()];
            } catch (EOFException e) {
                return;
            }
            input.readFully(frame);
            byte[] answer = MAPPER.writeValueAsBytes(answering.apply(MAPPER.readTree(frame)));
            output.writeInt(answer.length);
            output.write(answer);
            output.flush();
        }
    }

    /** The answer to a command that has thrown something. */
    static ObjectNode error(Exception thrown) {
        StringWriter trace = new StringWriter();
        thrown.printStackTrace(new PrintWriter(trace));
        return JsonNodeFactory.instance.objectNode().put("error", trace.toString());
    }
}
