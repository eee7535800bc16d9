package fencepost;

import com.fasterxml.jackson.databind.node.ArrayNode;

import org.apache.kafka.server.util.Scheduler;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledFuture;

/** Tasks that are to be done once, when they are due; what is done periodically is done by hand, or not at all. */
final class Scheduled implements Scheduler {
    private record Task(long atMs, Runnable what) {
    }

    private final ManualTime time;
    private List<Task> tasks = new ArrayList<>();

    Scheduled(ManualTime time) {
        this.time = time;
    }

    /** What is due. */
    void run() {
        List<Task> due = tasks.stream().filter(task -> task.atMs <= time.nowMs).toList();
        tasks = new ArrayList<>(tasks.stream().filter(task -> task.atMs > time.nowMs).toList());
        due.forEach(task -> task.what.run());
    }

    /** When something is due. */
    void tell(ArrayNode told) {
        tasks.forEach(task -> told.add(task.atMs));
    }

    @Override
    public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
        if (periodMs < 0) {
            tasks.add(new Task(time.nowMs + delayMs, task));
        }
        return null;
    }

    @Override
    public void startup() {
    }

    @Override
    public void shutdown() {
    }

    @Override
    public void resizeThreadPool(int size) {
    }
}
