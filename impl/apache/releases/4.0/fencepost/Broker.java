package fencepost;

import com.fasterxml.jackson.databind.JsonNode;

/** A process of a released broker: none before 4.1. */
final class Broker {
    private Broker() {
    }

    static Stepped of(JsonNode open, ManualTime time) {
        throw new IllegalArgumentException("brokers of releases before 4.1 are not driven");
    }
}
