// PORT: makes a report for each request, and collects garbage when it is done, as some libraries do.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;

public class Reports {
    static final Map<Integer, long[]> customers = new HashMap<>();

    static byte[] report() {
        StringBuilder text = new StringBuilder();
        for (int row = 0; row < 200; row++) {
            text.append(row).append(';').append(customers.get(row)[0]).append('\n');
        }
        System.gc(); // what a workbook leaves behind is much
        return text.toString().getBytes();
    }

    public static void main(String[] arguments) throws Exception {
        for (int number = 0; number < 800_000; number++) {
            customers.put(number, new long[] {number, 2, 3});
        }
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 128);
        server.createContext("/", exchange -> {
            byte[] answer = report();
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
