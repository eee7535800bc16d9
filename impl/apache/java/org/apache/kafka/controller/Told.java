package org.apache.kafka.controller;

import java.util.function.Function;

/** What is told of a controller of any release. */
public final class Told {
    private Told() {
    }

    /** The soft state of a broker that is registered. contactNs, shutdownOffset: -1 where there is none. */
    public record Session(int brokerId, long contactNs, long metadataOffset, long shutdownOffset) {
    }

    /** What will be answered once the log is committed up to an offset, inclusive. */
    public record Answer<T>(long offset, T content) {
    }

    /** Of the result that an event keeps. */
    public static <T> Answer<T> waiting(Object result, Function<Object, T> write) {
        ControllerResultAndOffset<?> kept = (ControllerResultAndOffset<?>) result;
        return new Answer<>(kept.offset(), write.apply(kept.response()));
    }
}
