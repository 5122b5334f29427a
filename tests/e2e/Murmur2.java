import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;
import org.apache.kafka.common.utils.Utils;

/** Kafka's own murmur2: reads "key in hex, tab, partition count", prints "hash, tab, partition". */
public class Murmur2 {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] column = line.split("\t");
            int hash = Utils.murmur2(HexFormat.of().parseHex(column[0]));
            out.append(hash).append('\t').append(Utils.toPositive(hash) % Integer.parseInt(column[1])).append('\n');
        }
        System.out.print(out);
    }
}
