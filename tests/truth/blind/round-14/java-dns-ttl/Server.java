import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.Executors;

/** Server PORT SERVICE: asks stock.example.test for each request, by a connection of its own. */
public class Server {
    static int ask(int port) throws java.io.IOException {
        try (var socket = new Socket("stock.example.test", port)) {
            socket.setTcpNoDelay(true);
            socket.getOutputStream().write("GET / HTTP/1.1\r\nHost: stock\r\n\r\n".getBytes());
            return socket.getInputStream().read(new byte[4096]);
        }
    }

    public static void main(String[] words) throws Exception {
        int service = Integer.parseInt(words[1]);
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 64);
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.createContext("/", exchange -> {
            byte[] text = (ask(service) + "\n").getBytes();
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
    }
}
