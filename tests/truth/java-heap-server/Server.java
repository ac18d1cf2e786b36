// Requests that allocate a megabyte each, beside three million small objects that live for ever.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Server {
    static final byte[][] LIVE = new byte[3_000_000][];

    static byte[][] filled(byte[][] with) {
        for (int i = 0; i < with.length; i++) {
            with[i] = new byte[60];
        }
        return with;
    }

    public static void main(String[] arguments) throws Exception {
        filled(LIVE);
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(System.getenv("PORT")));
        var server = HttpServer.create(address, 128);
        server.createContext("/", exchange -> {
            byte[] body = (filled(new byte[12_000][]).length + " objects\n").getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.start();
    }
}
