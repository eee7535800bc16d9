package org.apache.kafka.queue;

import java.util.OptionalLong;
import java.util.function.Function;

/** A queue as a release has it, whose one method of that signature is `put`. */
interface Scheduling extends EventQueue {
    void put(EventInsertionType type, String tag, Function<OptionalLong, OptionalLong> deadline, Event event);

    @Override
    default void enqueue(
        EventInsertionType type,
        String tag,
        Function<OptionalLong, OptionalLong> deadline,
        Event event
    ) {
        put(type, tag, deadline, event);
    }
}
