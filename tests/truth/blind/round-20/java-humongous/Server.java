// Sorts the lines of a catalogue for each request, and keeps another one in memory.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

public class Server {
    static final int LINES = 300_000;
    static final Map<Integer, List<String>> kept = new HashMap<>();

    static String page(int number) {
        int found = 0;
        for (int part = 0; part < 8; part++) {
            List<Object> lines = new ArrayList<>(LINES);
            for (int line = 0; line < 2_000; line++) {
                lines.add(kept.get((number * 31 + line * 7 + part) % kept.size()));
            }
            found += lines.size();
        }
        return found + " lines\n";
    }

    public static void main(String[] arguments) throws Exception {
        for (int key = 0; key < 500_000; key++) {
            kept.put(key, List.of("item " + key, "price " + key % 997, "colour " + key % 13));
        }
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(System.getenv("PORT")));
        var server = HttpServer.create(address, 128);
        server.createContext("/", exchange -> {
            byte[] body = page((int) (System.nanoTime() % 100_000)).getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
