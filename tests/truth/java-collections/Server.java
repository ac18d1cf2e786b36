// Requests that leave garbage behind, beside 2 million small objects that live and are marked in every collection.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Server {
    static final byte[][] LIVE = new byte[2_000_000][];
    static volatile byte[] garbage;

    public static void main(String[] arguments) throws Exception {
        int kilobytes = Integer.parseInt(System.getenv("GARBAGE_KB"));
        for (int i = 0; i < LIVE.length; i++) {
            LIVE[i] = new byte[60];
        }
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(System.getenv("PORT")));
        var server = HttpServer.create(address, 128);
        server.createContext("/", exchange -> {
            for (int i = 0; i < kilobytes; i += 100) {
                garbage = new byte[100_000];
            }
            byte[] body = "done\n".getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
