// Requests that take little, beside eight million small objects and somebody who asks for a whole collection each second.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Server {
    static final byte[][] LIVE = new byte[8_000_000][];

    public static void main(String[] arguments) throws Exception {
        long pauseMilliseconds = Long.parseLong(System.getenv("PAUSE_MS"));
        for (int i = 0; i < LIVE.length; i++) {
            LIVE[i] = new byte[60];
        }
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(System.getenv("PORT")));
        var server = HttpServer.create(address, 128);
        server.createContext("/", exchange -> {
            byte[] body = "done\n".getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
        while (pauseMilliseconds > 0) {
            Thread.sleep(pauseMilliseconds);
            System.gc();
        }
    }
}
