import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;

/** Server PORT inside|outside: counts its requests; metrics are made of all, within the lock or of a copy. */
public class Server {
    static class Metrics {
        private final Map<String, Long> counts = new HashMap<>();

        Metrics() {
            for (int number = 0; number < 12_000; number++) {
                counts.put("requests{customer=" + number * 7919L % 12_000 + "}", 0L);
            }
        }

        synchronized void count(String name) {
            counts.merge(name, 1L, Long::sum);
        }

        static int text(Map<String, Long> of) {
            var text = new StringBuilder();
            for (var entry : new TreeMap<>(of).entrySet()) {
                for (int quantile = 1; quantile <= 5; quantile++) {
                    text.append(String.format("%s_%d %d%n", entry.getKey(), quantile, entry.getValue() / quantile));
                }
            }
            return text.length();
        }

        int snapshot(boolean inside) {
            Map<String, Long> copy;
            synchronized (this) {
                if (inside) {
                    return text(counts);
                }
                copy = new HashMap<>(counts);
            }
            return text(copy);
        }
    }

    public static void main(String[] words) throws Exception {
        var metrics = new Metrics();
        boolean inside = words[1].equals("inside");
        var reporter = new Thread(() -> {
            while (true) {
                metrics.snapshot(inside);
                try {
                    Thread.sleep(100);
                } catch (InterruptedException end) {
                    return;
                }
            }
        }, "reporter");
        reporter.setDaemon(true);
        reporter.start();
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 64);
        server.setExecutor(Executors.newFixedThreadPool(16));
        byte[] text = "counted\n".getBytes();
        server.createContext("/", exchange -> {
            metrics.count(exchange.getRequestURI().getPath());
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
    }
}
