import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.HexFormat;

/**
 * Reads lines of a class of Kafka Streams (SubscriptionInfo, AssignmentInfo) and user data in hexadecimal digits, and
 * prints for each what that release writes once it has read them, or "!" and the exception that it throws.
 */
public final class RoundTrip {
    private static final String PACKAGE = "org.apache.kafka.streams.processor.internals.assignment.";

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            System.out.println(answer(words[0], HexFormat.of().parseHex(words[1])));
            System.out.flush();
        }
    }

    private static String answer(String name, byte[] data) throws ReflectiveOperationException {
        Class<?> type = Class.forName(PACKAGE + name);
        Method decode = type.getDeclaredMethod("decode", ByteBuffer.class);
        Method encode = type.getDeclaredMethod("encode");
        decode.setAccessible(true);
        encode.setAccessible(true);
        try {
            ByteBuffer written = (ByteBuffer) encode.invoke(decode.invoke(null, ByteBuffer.wrap(data)));
            written.rewind();
            byte[] bytes = new byte[written.remaining()];
            written.get(bytes);
            return HexFormat.of().formatHex(bytes);
        } catch (InvocationTargetException error) {
            return "!" + error.getCause().getClass().getSimpleName();
        }
    }
}
