// Requests that go through 150,000 rows each, page by page, beside more that live for ever.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;

public class Server {
    static final List<byte[]> LIVE = rows(1_200_000);

    static List<byte[]> rows(int count) {
        List<byte[]> rows = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            rows.add(new byte[80]);
        }
        return rows;
    }

    public static void main(String[] arguments) throws Exception {
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(System.getenv("PORT")));
        var server = HttpServer.create(address, 128);
        server.createContext("/", exchange -> {
            int count = 0;
            for (int page = 0; page < 10; page++) {
                count += rows(15_000).size();
            }
            byte[] body = (count + " of " + LIVE.size() + " rows\n").getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
