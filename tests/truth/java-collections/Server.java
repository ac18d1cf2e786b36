// Requests that leave garbage behind, beside 150 MB that live.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Server {
    static final byte[][] LIVE = new byte[150 << 10][];
    static volatile byte[] garbage;

    public static void main(String[] arguments) throws Exception {
        int kilobytes = Integer.parseInt(System.getenv("GARBAGE_KB"));
        for (int i = 0; i < LIVE.length; i++) {
            LIVE[i] = new byte[1000];
        }
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(System.getenv("PORT")));
        var server = HttpServer.create(address, 128);
        server.createContext("/", exchange -> {
            for (int i = 0; i < kilobytes; i++) {
                garbage = new byte[1000];
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
