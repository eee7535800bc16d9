import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.io.PrintStream;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Reads metadata records, a line of hexadecimals each; writes for each the bytes that Kafka writes, and its JSON. */
public class Records {
    public static void main(String[] arguments) throws Exception {
        MetadataRecordSerde serde = new MetadataRecordSerde();
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(line));
            ApiMessageAndVersion record = serde.read(new ByteBufferAccessor(bytes), bytes.remaining());
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer written = ByteBuffer.allocate(serde.recordSize(record, cache));
            serde.write(record, cache, new ByteBufferAccessor(written));
            ObjectNode json = new ObjectNode(JsonNodeFactory.instance);
            json.put("type", MetadataRecordType.fromId(record.message().apiKey()).name());
            json.put("version", record.version());
            json.set("data", MetadataJsonConverters.writeJson(record.message(), record.version()));
            out.println(HexFormat.of().formatHex(written.array()) + " " + json);
        }
        out.flush();
    }
}
