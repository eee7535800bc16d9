package fencepost;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.controller.QuorumFeatures;
import org.apache.kafka.controller.metrics.QuorumControllerMetrics;
import org.apache.kafka.metadata.KafkaConfigSchema;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.fault.FaultHandler;

/** What copies share: it never changes, or decides nothing. */
final class Shared {
    private static final ClassValue<Boolean> IS_SHARED = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return isShared(type);
        }
    };
    /** Values; records of the log, which are not changed once they are made; and what only reports. */
    private static final Class<?>[] KINDS = {
        String.class, Number.class, Boolean.class, Character.class, Enum.class, Class.class, Uuid.class,
        ApiMessage.class, ApiMessageAndVersion.class, AbstractConfig.class,
        LogContext.class, QuorumControllerMetrics.class, KafkaConfigSchema.class, BootstrapMetadata.class,
        QuorumFeatures.class, FaultHandler.class,
    };

    private Shared() {
    }

    static boolean is(Object object) {
        return IS_SHARED.get(object.getClass());
    }

    private static boolean isShared(Class<?> type) {
        for (Class<?> kind : KINDS) {
            if (kind.isAssignableFrom(type) && !type.getName().startsWith("java.util.concurrent.atomic")) {
                return true;
            }
        }
        return isScalaObject(type) || org.slf4j.Logger.class.isAssignableFrom(type);
    }

    /** Of a class that has one object, by which that is known. */
    static boolean isScalaObject(Class<?> type) {
        return type.getName().endsWith("$");
    }
}
