import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;

/** A stateless Kafka Streams application of any release from 2.0 on: reads a topic, and prints states and deaths. */
public class Application {
    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[3]);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.ByteArray().getClass());
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.ByteArray().getClass());
        settings.put("session.timeout.ms", arguments[4]);
        settings.put("heartbeat.interval.ms", "200");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(arguments[2]).foreach((key, value) -> { });
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler((thread, error) -> {
            for (Throwable each = error; each != null; each = each.getCause()) {
                System.out.println("died of " + each);
            }
        });
        streams.setStateListener((now, before) -> System.out.println("is " + now));
        streams.start();
    }
}
