import java.util.TreeMap;

import kafka.server.KafkaConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Prints each config that is a list, as "type of resource, name, default". */
public class Lists {
    private static void print(int resourceType, ConfigDef configs) {
        for (ConfigDef.ConfigKey config : new TreeMap<>(configs.configKeys()).values()) {
            if (config.type == ConfigDef.Type.LIST) {
                String value = ConfigDef.convertToString(config.hasDefault() ? config.defaultValue : null, config.type);
                System.out.println("list " + resourceType + " " + config.name + " " + value);
            }
        }
    }

    public static void main(String[] arguments) {
        print(2, LogConfig.configDefCopy());
        print(4, KafkaConfig.configDef());
    }
}
