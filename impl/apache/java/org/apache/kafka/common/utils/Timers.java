package org.apache.kafka.common.utils;

/** Makes timers of any clock, which the package keeps to itself. */
public final class Timers {
    private Timers() {
    }

    public static Timer of(Time time, long timeoutMs) {
        return new Timer(time, timeoutMs);
    }
}
