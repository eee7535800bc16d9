package fencepost;

import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.common.utils.Timers;

import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** A clock that is set by hand. */
final class ManualTime implements Time {
    long nowMs;

    @Override
    public long milliseconds() {
        return nowMs;
    }

    @Override
    public long nanoseconds() {
        return TimeUnit.MILLISECONDS.toNanos(nowMs);
    }

    @Override
    public void sleep(long ms) {
        throw new UnsupportedOperationException("nothing waits here");
    }

    @Override
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException("nothing waits here");
    }

    @Override
    public Timer timer(long timeoutMs) {
        return Timers.of(this, timeoutMs);
    }
}
