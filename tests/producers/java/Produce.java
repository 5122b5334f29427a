/* Kafka's Java producer with its default partitioner; the interface is in ../README.md. */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Produce {
	public static void main(String[] args) throws IOException, InterruptedException {
		if (args.length != 2) {
			System.err.println("usage: Produce BOOTSTRAP TOPIC");
			System.exit(64);
		}
		try {
			produce(args[0], args[1]);
		} catch (ExecutionException e) {
			System.err.println("Produce: " + e.getCause());
			System.exit(1);
		}
	}

	private static void produce(String bootstrap, String topic)
			throws IOException, InterruptedException, ExecutionException {
		Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "acks", "all");
		BufferedReader keys = new BufferedReader(new InputStreamReader(System.in));
		List<Future<?>> sent = new ArrayList<>();
		try (KafkaProducer<byte[], byte[]> producer =
				new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
			for (String line = keys.readLine(); line != null; line = keys.readLine())
				sent.add(producer.send(new ProducerRecord<>(topic, HexFormat.of().parseHex(line), new byte[] {'v'})));
			producer.flush();
			for (Future<?> one : sent)
				one.get();
		}
	}
}
