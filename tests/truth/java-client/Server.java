// A pool of 16 threads; each asks the upstream through a client that leaves waiting to a thread of its own.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.concurrent.Executors;

public class Server {
    public static void main(String[] arguments) throws Exception {
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(System.getenv("PORT")));
        var upstream = URI.create("http://127.0.0.1:" + System.getenv("UPSTREAM") + "/");
        var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        var request = HttpRequest.newBuilder(upstream).build();
        var server = HttpServer.create(address, 128);
        server.createContext("/", exchange -> {
            byte[] body;
            try {
                body = client.send(request, BodyHandlers.ofByteArray()).body();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.start();
    }
}
