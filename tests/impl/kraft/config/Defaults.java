import java.util.Map;
import java.util.TreeMap;

import kafka.server.KafkaConfig;

/** Prints each setting of a Kafka node that has a default: name=default. */
public class Defaults {
    public static void main(String[] arguments) {
        for (Map.Entry<String, Object> entry : new TreeMap<>(KafkaConfig.configDef().defaultValues()).entrySet()) {
            System.out.println(entry.getKey() + "=" + entry.getValue());
        }
        for (String name : KafkaConfig.configDef().names()) {
            System.out.println("name " + name);
        }
    }
}
