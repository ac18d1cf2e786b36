// Answers with a page, and keeps an event for each until somebody ships it, if there are not too many.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

public class Shop {
    private static final int MOST = 10_000_000;
    private static final boolean ASKS_QUEUE = System.getenv("COUNT").equals("queue");
    private static final ConcurrentLinkedQueue<Integer> events = new ConcurrentLinkedQueue<>();
    private static final AtomicInteger waiting = new AtomicInteger();

    private static int behind() {
        return ASKS_QUEUE ? events.size() : waiting.get();
    }

    private static void keep(Integer event) {
        if (behind() < MOST) {
            events.add(event);
            waiting.incrementAndGet();
        }
    }

    private static void answer(HttpExchange exchange) throws IOException {
        keep(exchange.hashCode());
        byte[] page = "a page\n".getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, page.length);
        exchange.getResponseBody().write(page);
        exchange.close();
    }

    public static void main(String[] arguments) throws IOException {
        for (int event = 0; event < 2_000_000; event++) {
            events.add(event);
            waiting.incrementAndGet();
        }
        int port = Integer.parseInt(System.getenv("PORT"));
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 100);
        server.createContext("/", Shop::answer);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
