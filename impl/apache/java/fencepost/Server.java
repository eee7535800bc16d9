package fencepost;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.controller.Inside;
import org.apache.kafka.controller.Told;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.server.common.ApiMessageAndVersion;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Keeps states of controllers and of brokers' lifecycles, and takes steps from one to the next.
 *
 * A step of a state makes a new one and leaves the old one as it is; states that are not needed any more are dropped by
 * name.
 */
final class Server {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    private final Map<Integer, Object> states = new HashMap<>();
    private int made;

    public static void main(String[] arguments) throws IOException {
        Frames.serve(new Server()::answer);
    }

    private ObjectNode answer(JsonNode command) {
        command.path("drop").forEach(id -> states.remove(id.intValue()));
        Node.Faults.last = null;
        try {
            ObjectNode answer = step(command);
            if (Node.Faults.last != null) {
                throw Node.Faults.last;
            }
            return answer;
        } catch (Node.Fault e) {
            return JSON.objectNode().put("fault", e.getMessage());
        } catch (Exception e) {
            return Frames.error(e);
        }
    }

    private ObjectNode step(JsonNode command) throws Exception {
        String kind = command.get("kind").textValue();
        if (kind.equals("create")) {
            Node node = Node.create(
                command.get("node").intValue(),
                command.get("cluster").textValue(),
                command.get("sessionTimeoutMs").longValue(),
                command.get("metadataVersion").intValue(),
                command.get("minInsyncReplicas").intValue());
            return told(node);
        }
        if (kind.equals("create lifecycle")) {
            return kept(Lifecycle.of(command.get("configs")), JSON.objectNode());
        }
        Object before = states.get(command.get("state").intValue());
        if (kind.equals("describe")) {
            return JSON.objectNode().put("text", Structure.of(before).text());
        }
        Object state = DeepCopy.of(before);
        if (state instanceof Stepped stepped) {
            return kept(stepped, stepped.step(command));
        }
        Node node = (Node) state;
        if (kind.equals("reverted")) {
            node.resign();
            return put(JSON.objectNode(), Structure.of(node));
        }
        node.time.nowMs = command.get("nowMs").longValue();
        take(node, kind, command);
        return told(node);
    }

    /** A new state, and what its driver is told of it. */
    private ObjectNode kept(Object state, ObjectNode answer) {
        put(answer, Structure.of(state));
        states.put(++made, state);
        return answer.put("state", made);
    }

    private void take(Node node, String kind, JsonNode command) {
        switch (kind) {
            case "replay" -> command.get("batches").forEach(one -> node.replay(batch(one)));
            case "load" -> node.load(command.get("offset").longValue(), batch(command.get("batch")));
            case "commit" -> node.commit(command.get("offset").longValue());
            case "lead" -> node.lead(command.get("epoch").intValue(), command.get("begins").booleanValue());
            case "resign" -> node.resign();
            case "fire" -> node.fire(command.get("tag").textValue());
            case "checkLease" -> node.checkLease(command.get("brokerId").intValue());
            case "contact" -> node.contact(command.get("brokerId").intValue(), command.get("brokerEpoch").longValue());
            case "call" -> {
                JsonNode topic = command.path("topicId");
                Uuid topicId = topic.isTextual() ? Uuid.fromString(topic.textValue()) : null;
                node.call(command.get("call").intValue(), command.get("request").textValue(), command.get("data"), topicId);
            }
            default -> throw new IllegalArgumentException("no step is called " + kind);
        }
    }

    private static Batch<ApiMessageAndVersion> batch(JsonNode json) {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        for (JsonNode record : json.get("records")) {
            short type = record.get("type").shortValue();
            short version = record.get("version").shortValue();
            records.add(new ApiMessageAndVersion(
                MetadataJsonConverters.readJson(record.get("data"), type, version), version));
        }
        long base = json.get("baseOffset").longValue();
        int epoch = json.get("epoch").intValue();
        return records.isEmpty() ? LogClient.control(base, epoch) : Batch.data(base, epoch, 0, records.size(), records);
    }

    /** A new state, and all that its driver is told of it. */
    private ObjectNode told(Node node) {
        ObjectNode answer = JSON.objectNode();
        ArrayNode appended = answer.putArray("appended");
        for (Batch<ApiMessageAndVersion> batch : node.log.takeAppended()) {
            ObjectNode one = appended.addObject().put("baseOffset", batch.baseOffset()).put("epoch", batch.epoch());
            ArrayNode records = one.putArray("records");
            batch.records().forEach(record -> records.addObject()
                .put("type", record.message().apiKey())
                .set("data", MetadataJsonConverters.writeJson(record.message(), record.version())));
        }
        takeReplies(node, answer.putObject("replies"));
        ArrayNode waiting = answer.putArray("waiting");
        node.calls.forEach((number, call) -> {
            Told.Answer<JsonNode> one = call.waiting();
            if (one != null) {
                waiting.addArray().add(number).add(one.offset()).add(one.content());
            }
        });
        answer.put("leads", node.log.leader.leaderId().isPresent()).put("checksLeases", node.checksLeases());
        ArrayNode sessions = answer.putArray("sessions");
        Inside.sessions(node.controller).forEach(one -> sessions.addArray()
            .add(one.brokerId()).add(one.contactNs()).add(one.metadataOffset()).add(one.shutdownOffset()));
        return kept(node, answer);
    }

    private static ObjectNode put(ObjectNode answer, Structure structure) {
        ArrayNode numbers = answer.putArray("numbers");
        structure.numbers().forEach(one -> numbers.addArray().add(one.kind()).add(one.value()).add(one.about()));
        return answer.put("digest", digest(structure.text()));
    }

    /** Stands for a text, so that only this goes through the pipe. */
    private static String digest(String text) {
        try {
            byte[] whole = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return Base64.getEncoder().encodeToString(Arrays.copyOf(whole, 16));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void takeReplies(Node node, ObjectNode replies) {
        Iterator<Map.Entry<Integer, Node.Call>> calls = node.calls.entrySet().iterator();
        while (calls.hasNext()) {
            Map.Entry<Integer, Node.Call> call = calls.next();
            if (call.getValue().answer.isDone()) {
                replies.set(call.getKey().toString(), call.getValue().answer.join());
                calls.remove();
            }
        }
    }
}
