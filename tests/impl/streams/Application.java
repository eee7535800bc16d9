import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.Properties;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.KStream;

/** A stateless Kafka Streams application of any release from 0.10.2 on: reads a topic, and prints states and deaths. */
public class Application {
    public static void main(String[] arguments) throws ReflectiveOperationException {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[3]);
        settings.put("session.timeout.ms", arguments[4]);
        settings.put("heartbeat.interval.ms", "200");
        if (arguments.length > 5) {
            settings.put("upgrade.from", arguments[5]);
        }
        try {
            run(streams(arguments[2], settings));
        } catch (InvocationTargetException refusal) {
            System.out.println("refuses " + refusal.getCause());
        }
    }

    private static void run(KafkaStreams streams) {
        streams.setUncaughtExceptionHandler((thread, error) -> {
            for (Throwable each = error; each != null; each = each.getCause()) {
                System.out.println("died of " + each);
            }
        });
        streams.setStateListener((now, before) -> System.out.println("is " + now));
        streams.start();
    }

    /** Topologies have been built by StreamsBuilder since 1.0; what 2.0 does not have any more is not named here. */
    private static KafkaStreams streams(String topic, Properties settings) throws ReflectiveOperationException {
        Object topology;
        KStream<?, ?> records;
        try {
            Class<?> builder = Class.forName("org.apache.kafka.streams.StreamsBuilder");
            Object made = builder.getConstructor().newInstance();
            records = (KStream<?, ?>) builder.getMethod("stream", String.class).invoke(made, topic);
            records.foreach((key, value) -> { });
            topology = builder.getMethod("build").invoke(made);
        } catch (ClassNotFoundException before10) {
            Class<?> builder = Class.forName("org.apache.kafka.streams.kstream.KStreamBuilder");
            topology = builder.getConstructor().newInstance();
            String[] topics = {topic};
            records = (KStream<?, ?>) builder.getMethod("stream", String[].class).invoke(topology, (Object) topics);
            records.foreach((key, value) -> { });
        }
        for (Constructor<?> each : KafkaStreams.class.getConstructors()) {
            Class<?>[] types = each.getParameterTypes();
            if (types.length == 2 && types[0].isInstance(topology) && types[1] == Properties.class) {
                return (KafkaStreams) each.newInstance(topology, settings);
            }
        }
        throw new NoSuchMethodException("KafkaStreams of a topology and properties");
    }
}
