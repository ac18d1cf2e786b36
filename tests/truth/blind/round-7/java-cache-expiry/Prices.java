// PORT SERVICE refresh|expire: answers from a list that is loaded from a service again and again.
import com.sun.net.httpserver.HttpServer;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

public class Prices {
    static final ConcurrentHashMap<String, byte[]> cache = new ConcurrentHashMap<>();
    static String service;

    static byte[] load(String name) {
        try (InputStream answer = new URL(service + name).openStream()) {
            return answer.readAllBytes();
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        service = "http://127.0.0.1:" + arguments[1] + "/";
        boolean refresh = arguments[2].equals("refresh");
        while (cache.isEmpty()) {
            try {
                cache.put("prices", load("prices"));
            } catch (IllegalStateException notYet) {
                Thread.sleep(100);
            }
        }
        Executors.newSingleThreadScheduledExecutor().scheduleAtFixedRate(() -> {
            if (refresh) {
                cache.put("prices", load("prices"));
            } else {
                cache.remove("prices");
            }
        }, 400, 400, TimeUnit.MILLISECONDS);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 128);
        server.createContext("/", exchange -> {
            byte[] answer = cache.computeIfAbsent("prices", Prices::load);
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(32));
        server.start();
    }
}
