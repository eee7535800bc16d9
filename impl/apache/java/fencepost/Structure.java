package fencepost;

import jdk.internal.misc.Unsafe;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.controller.Inside;
import org.apache.kafka.timeline.SnapshotRegistry;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/**
 * The state of a controller, or of a broker's lifecycle, derived from its objects: every field of every object that can be reached.
 *
 * It is a text in which numbers of the log and times are left blank, and those numbers, each with what it is: whoever
 * compares states decides when two of them mean the same. A field of which nothing is said here is in the text as it is.
 */
final class Structure {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();

    private static final String REGISTRATION_OFFSET = "registration offset";

    /** What the numbers in a field are, by the simple names of its class and its own. Of a map, its values. */
    private static final Map<String, String> NUMBERS = Map.ofEntries(
        Map.entry("BrokerRegistration.epoch", "broker epoch"),
        Map.entry("BrokerRegistration.incarnationId", "incarnation"),
        Map.entry("BrokerIdAndEpoch.epoch", "broker epoch"),
        Map.entry("BrokerHeartbeatState.metadataOffset", "offset"),
        Map.entry("BrokerHeartbeatState.controlledShutdownOffset", "shutdown offset"),
        Map.entry("ClusterControlManager.registerBrokerRecordOffsets", REGISTRATION_OFFSET),
        Map.entry("BrokerHeartbeatTracker.contactTimes", "contact"),
        Map.entry("QuorumController.curClaimEpoch", "controller epoch"),
        Map.entry("PartitionRegistration.leaderEpoch", "leader epoch"),
        Map.entry("PartitionRegistration.partitionEpoch", "partition epoch"),
        Map.entry("BrokerLifecycleManager.brokerEpoch", "broker epoch"),
        Map.entry("BrokerLifecycleManager._brokerEpoch", "broker epoch")
    );

    /** Maps of maps in which an entry that is empty decides what none does: it is left where the last of it went. */
    private static final Set<String> WITHOUT_EMPTY = Set.of("BrokersToIsrs.isrMembers", "BrokersToElrs.elrMembers");
    private static final String FILLED = "filled";
    /** Of maps by tag: what is due in them are the events of a queue. */
    private static final String EVENTS = "events";

    /** Fields that decide nothing, or are seen elsewhere, and why. */
    private static final Map<String, String> LEFT_OUT = Map.ofEntries(
        Map.entry("QuorumController.performanceMonitor", "it writes log messages"),
        Map.entry("QuorumController.bootstrapMetadata", "the same for all"),
        Map.entry("Node.calls", "the calls that wait, which are told of by themselves"),
        Map.entry("DeferredEventQueue.pending", "the answers that wait, which are told of by themselves"),
        Map.entry("PeriodicTaskControlManager.tasks", "the same for all; which are set is in the queue"),
        Map.entry("Deferred.event", "a tag stands for one event"),
        Map.entry("Deferred.deadlineNs", "who drives it says when a timer fires"),
        Map.entry("LogClient.endOffset", "the end of the log, which is seen"),
        Map.entry("LogClient.leader", "the epoch that was claimed"),
        Map.entry("LogClient.pending", "the end of the log, which is seen"),
        Map.entry("LogClient.appended", "empty between two steps"),
        Map.entry("OffsetControlManager.lastCommittedEpoch", "it is told in messages only"),
        Map.entry("OffsetControlManager.lastCommittedOffset", "see offsets"),
        Map.entry("OffsetControlManager.lastStableOffset", "see offsets"),
        Map.entry("OffsetControlManager.nextWriteOffset", "see offsets"),
        Map.entry("BrokerHeartbeatState.lastContactNs", "read where the broker has a lease"),
        Map.entry("BrokerHeartbeatState.prev", "see BrokerHeartbeatManager.unfenced"),
        Map.entry("BrokerHeartbeatState.next", "see BrokerHeartbeatManager.unfenced"),
        Map.entry("BrokerHeartbeatManager.unfenced", "those that have a lease, in an order that who drives it chooses"),
        Map.entry("ReplicationControlManager.globalPartitionCount", "a metric"),
        Map.entry("StripedReplicaPlacer.random", "no replicas are placed: each request assigns them"),
        Map.entry("BrokerLifecycleManager.incarnationId", "drawn; the process under test has its own"),
        Map.entry("Lifecycle.appliedOffset", "it is told anew before it is asked for"),
        Map.entry("Lifecycle.requests", "empty between two steps")
    );

    private record Part(String name, String kind, long offset, Class<?> type) {
    }

    private static final ClassValue<Part[]> PARTS = new ClassValue<>() {
        @Override
        protected Part[] computeValue(Class<?> type) {
            List<Part> found = new ArrayList<>();
            for (Class<?> one = type; one != null; one = one.getSuperclass()) {
                for (Field field : one.getDeclaredFields()) {
                    String name = one.getSimpleName() + "." + nameOf(field);
                    if (!Modifier.isStatic(field.getModifiers()) && !LEFT_OUT.containsKey(name)) {
                        long at = UNSAFE.objectFieldOffset(field);
                        String kind = WITHOUT_EMPTY.contains(name) ? FILLED
                            : name.equals("KafkaEventQueue.deferred") ? EVENTS : NUMBERS.get(name);
                        found.add(new Part(nameOf(field), kind, at, field.getType()));
                    }
                }
            }
            found.sort(Comparator.comparing(Part::name));
            return found.toArray(new Part[0]);
        }
    };

    /** Scala puts the class before the name of a field that its inner classes see. */
    private static String nameOf(Field field) {
        return field.getName().replaceFirst(".*\\$\\$", "");
    }

    /** A number of the text. about: the topic and partition of an epoch, the broker of a registration, else "". */
    record Number(String kind, long value, String about) {
    }

    private final StringBuilder text = new StringBuilder();
    private final List<Number> numbers = new ArrayList<>();
    private final IdentityHashMap<Object, Integer> seen = new IdentityHashMap<>();
    private final Object root;
    private String topic = "";
    private String partition = "";
    private String broker = "";

    private Structure(Object root) {
        this.root = root;
    }

    static Structure of(Object root) {
        return of(root, root);
    }

    /** What can be reached from a part of it. */
    private static Structure of(Object root, Object part) {
        Structure made = new Structure(root);
        made.read(part, null);
        return made;
    }

    String text() {
        return text.toString();
    }

    List<Number> numbers() {
        return numbers;
    }

    private void number(String kind, long value) {
        text.append('#').append(kind.charAt(0));
        String about = kind.equals("leader epoch") || kind.equals("partition epoch") ? topic + "/" + partition
            : kind.equals(REGISTRATION_OFFSET) ? broker : "";
        numbers.add(new Number(kind, value, about));
    }

    /** kind: of the numbers in it; null where they stand for themselves. */
    private void read(Object object, String kind) {
        if (object == null) {
            text.append('-');
        } else if (kind != null && object instanceof java.lang.Number value) {
            number(kind, value.longValue());
        } else if (kind != null && object instanceof Uuid id) {
            number(kind, id.getLeastSignificantBits());
        } else if (object instanceof java.lang.Number || object instanceof String || object instanceof Boolean
            || object instanceof Enum || object instanceof Uuid || object instanceof Character) {
            text.append(object);
        } else if (object instanceof Class<?> type) {
            text.append(type.getName());
        } else if (Shared.isScalaObject(object.getClass())) {
            text.append(object.getClass().getName());
        } else if (Shared.is(object) || object instanceof Time || object instanceof SnapshotRegistry) {
            text.append('=');
        } else if (object instanceof Optional<?> optional) {
            read(optional.orElse(null), kind);
        } else if (object instanceof OptionalLong optional) {
            read(optional.isPresent() ? optional.getAsLong() : null, kind);
        } else if (object instanceof OptionalInt optional) {
            read(optional.isPresent() ? optional.getAsInt() : null, kind);
        } else {
            readOnce(object, kind);
        }
    }

    private void readOnce(Object object, String kind) {
        Integer before = seen.putIfAbsent(object, seen.size());
        if (before != null) {
            text.append('@').append(before);
        } else if (object instanceof Map<?, ?> map) {
            readMap(map, kind);
        } else if (object instanceof Set<?> set) {
            readSet(set, kind);
        } else if (object instanceof Collection<?> collection) {
            text.append('[');
            collection.forEach(one -> { read(one, kind); text.append(','); });
            text.append(']');
        } else if (object.getClass().isArray()) {
            text.append('[');
            for (int i = 0; i < Array.getLength(object); i++) {
                read(Array.get(object, i), kind);
                text.append(',');
            }
            text.append(']');
        } else {
            readFields(object);
        }
    }

    private void readFields(Object object) {
        String name = object.getClass().getSimpleName();
        int lambda = name.indexOf("$$Lambda");
        boolean isTopic = name.equals("TopicControlInfo");
        text.append(lambda < 0 ? name : name.substring(0, lambda) + " lambda").append('(');
        if (isTopic) {
            topic = topicOf(object);
        }
        for (Part part : PARTS.get(object.getClass())) {
            text.append(part.name).append('=');
            readPart(object, part);
            text.append(' ');
        }
        if (name.equals("OffsetControlManager")) {
            readOffsets(object);
        } else if (name.equals("BrokerHeartbeatState")) {
            Inside.contactNs(object).ifPresent(atNs -> number("contact", atNs));
        }
        if (isTopic) {
            topic = "";
        }
        text.append(')');
    }

    private static String topicOf(Object info) {
        for (Part part : PARTS.get(info.getClass())) {
            if (part.name.equals("id")) {
                return UNSAFE.getReference(info, part.offset).toString();
            }
        }
        throw new IllegalStateException("a topic without an id");
    }

    private void readPart(Object object, Part part) {
        Class<?> type = part.type;
        if (!type.isPrimitive()) {
            read(UNSAFE.getReference(object, part.offset), part.kind);
        } else if (type == boolean.class) {
            text.append(UNSAFE.getBoolean(object, part.offset));
        } else {
            long value = type == long.class ? UNSAFE.getLong(object, part.offset)
                : type == int.class ? UNSAFE.getInt(object, part.offset)
                : type == short.class ? UNSAFE.getShort(object, part.offset)
                : type == byte.class ? UNSAFE.getByte(object, part.offset)
                : type == char.class ? UNSAFE.getChar(object, part.offset)
                : type == float.class ? UNSAFE.getInt(object, part.offset) : UNSAFE.getLong(object, part.offset);
            if (part.kind == null) {
                text.append(value);
            } else {
                number(part.kind, value);
            }
        }
    }

    /** How far the offsets that a controller keeps are from the end of the log, not which they are. */
    private void readOffsets(Object manager) {
        long committed = field(manager, "lastCommittedOffset");
        long stable = field(manager, "lastStableOffset");
        long next = field(manager, "nextWriteOffset");
        text.append("committed - stable=").append(committed - stable);
        text.append(" next=").append(next < 0 ? "none" : String.valueOf(next - ((Node) root).log.endOffset));
    }

    static long field(Object object, String name) {
        try {
            return UNSAFE.getLong(object, UNSAFE.objectFieldOffset(object.getClass().getDeclaredField(name)));
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The entries of a map, whose order is none, in that of what they look like. */
    private void readMap(Map<?, ?> map, String kind) {
        List<Entry> entries = new ArrayList<>();
        boolean isFilled = FILLED.equals(kind);
        for (Object key : inOrder(map.keySet())) {
            Object value = map.get(key);
            boolean isNothing = isFilled ? ((Map<?, ?>) value).isEmpty()
                : "contact".equals(kind) && isOver(key) || EVENTS.equals(kind) && isIdle(key);
            if (!isNothing) {
                entries.add(entry(key, value, isFilled ? null : kind));
            }
        }
        append(entries);
    }

    private void readSet(Set<?> set, String kind) {
        List<Entry> entries = new ArrayList<>();
        inOrder(set).forEach(one -> entries.add(entry(one, "", kind)));
        append(entries);
    }

    /** As each looks by itself: an object is called by the number of those that were read before it. */
    private List<Object> inOrder(Set<?> set) {
        List<Object> found = new ArrayList<>(set);
        if (found.size() > 1) {
            Map<Object, String> looks = new IdentityHashMap<>();
            found.forEach(one -> looks.put(one, of(root, one).text()));
            found.sort(Comparator.comparing(looks::get));
        }
        return found;
    }

    /**
     * When a broker was heard of in an epoch that it has no more decides nothing: it is read by the epoch that a broker
     * has, and whoever looks for leases that have run out drops it.
     */
    private boolean isOver(Object contact) {
        Node node = (Node) root;
        return Inside.isOver(node.controller, contact, node.log.endOffset);
    }

    private boolean isIdle(Object tag) {
        return root instanceof Node node && Inside.isIdle(node.controller, tag);
    }

    private record Entry(String text, List<Number> numbers) implements Comparable<Entry> {
        @Override
        public int compareTo(Entry other) {
            int byText = text.compareTo(other.text);
            for (int i = 0; byText == 0 && i < numbers.size(); i++) {
                byText = Long.compare(numbers.get(i).value, other.numbers.get(i).value);
            }
            return byText;
        }
    }

    private Entry entry(Object key, Object value, String kind) {
        int textStart = text.length();
        int numbersStart = numbers.size();
        String outer = partition;
        read(key, null);
        if (!topic.isEmpty() && key instanceof Integer) {
            partition = key.toString();
        } else if (REGISTRATION_OFFSET.equals(kind)) {
            broker = key.toString();
        }
        text.append(':');
        read(value, kind);
        partition = outer;
        Entry made = new Entry(text.substring(textStart), new ArrayList<>(numbers.subList(numbersStart, numbers.size())));
        text.setLength(textStart);
        numbers.subList(numbersStart, numbers.size()).clear();
        return made;
    }

    private void append(List<Entry> entries) {
        entries.sort(null);
        text.append('{');
        for (Entry entry : entries) {
            text.append(entry.text).append(',');
            numbers.addAll(entry.numbers);
        }
        text.append('}');
    }
}
