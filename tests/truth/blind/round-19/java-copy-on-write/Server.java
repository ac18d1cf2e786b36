// Collects the lines of an order; "true": in a list that is safe for threads.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;

public class Server {
    static final int LINES = 12_000;

    static String order(List<String> lines) {
        for (int line = 0; line < LINES; line++) {
            lines.add("item " + line);
        }
        return lines.size() + " lines\n";
    }

    public static void main(String[] arguments) throws Exception {
        boolean copies = Boolean.parseBoolean(arguments[0]);
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(System.getenv("PORT")));
        var server = HttpServer.create(address, 128);
        server.createContext("/", exchange -> {
            byte[] body = order(copies ? new CopyOnWriteArrayList<>() : new ArrayList<>()).getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
