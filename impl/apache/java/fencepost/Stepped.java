package fencepost;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** What takes steps: each is handed a command, and tells what came of it. */
interface Stepped {
    ObjectNode step(JsonNode command) throws Exception;

    /** Its process dies. */
    default void close() {
    }
}
