package org.apache.kafka.queue;

import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.common.utils.Time;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * In the place of Kafka's queue: it has no thread. Events run when they are asked for, in the order of Kafka's.
 *
 * It is the one class of Kafka that is not the released one.
 */
public final class KafkaEventQueue implements Scheduling {
    private static final class Deferred {
        final Event event;
        final OptionalLong deadlineNs;

        Deferred(Event event, OptionalLong deadlineNs) {
            this.event = event;
            this.deadlineNs = deadlineNs;
        }
    }

    private final ArrayDeque<Event> ready = new ArrayDeque<>();
    private final TreeMap<String, Deferred> deferred = new TreeMap<>();
    /** What runs last, of a queue that is shut down. */
    private Event last;

    public KafkaEventQueue(Time time, LogContext logContext, String threadNamePrefix) {
    }

    public KafkaEventQueue(Time time, LogContext logContext, String threadNamePrefix, Event cleanupEvent) {
        last = cleanupEvent;
    }

    public KafkaEventQueue(
        Time time,
        LogContext logContext,
        String threadNamePrefix,
        Event cleanupEvent,
        BiConsumer<Long, Long> idleTimeCallback
    ) {
    }

    /** Run all events that wait for nothing, and those that they append. */
    public void drain() {
        for (Event event = ready.poll(); event != null; event = ready.poll()) {
            run(event);
        }
    }

    /** Run a deferred event, whenever it is due. Returns false where none has this tag. */
    public boolean fire(String tag) {
        Deferred found = deferred.remove(tag);
        if (found == null) {
            return false;
        }
        run(found.event);
        drain();
        return true;
    }

    private static void run(Event event) {
        try {
            event.run();
        } catch (Throwable e) {
            event.handleException(e);
        }
    }

    @Override
    public void put(EventInsertionType type, String tag, Function<OptionalLong, OptionalLong> deadline, Event event) {
        switch (type) {
            case PREPEND -> ready.addFirst(event);
            case APPEND -> ready.addLast(event);
            case DEFERRED -> {
                Deferred before = deferred.get(tag);
                OptionalLong known = before == null ? OptionalLong.empty() : before.deadlineNs;
                deferred.put(tag, new Deferred(event, deadline.apply(known)));
            }
        }
    }

    @Override
    public void cancelDeferred(String tag) {
        deferred.remove(tag);
    }

    /** By tag, when each deferred event is due. */
    public Map<String, Long> deadlines() {
        Map<String, Long> found = new TreeMap<>();
        deferred.forEach((tag, one) -> one.deadlineNs.ifPresent(atNs -> found.put(tag, atNs)));
        return found;
    }

    @Override
    public void beginShutdown(String source) {
        if (last != null) {
            deferred.clear();
            ready.addLast(last);
            last = null;
        }
    }

    @Override
    public int size() {
        return ready.size() + deferred.size();
    }

    @Override
    public void close() {
    }
}
