import com.sun.net.httpserver.HttpServer;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.concurrent.Executors;

/** Prices PORT SERVICE THREADS: asks a service for each request; 0 threads: the executor that there is. */
public class Prices {
    public static void main(String[] words) throws Exception {
        URL service = new URL("http://127.0.0.1:" + words[1] + "/");
        int threads = Integer.parseInt(words[2]);
        System.setProperty("http.maxConnections", "32");
        HttpServer server =
                HttpServer.create(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(words[0])), 128);
        server.createContext(
                "/",
                exchange -> {
                    try (InputStream answer = service.openStream()) {
                        answer.readAllBytes();
                    }
                    exchange.sendResponseHeaders(200, 5);
                    exchange.getResponseBody().write("done\n".getBytes());
                    exchange.close();
                });
        if (threads > 0) {
            server.setExecutor(Executors.newFixedThreadPool(threads));
        }
        server.start();
    }
}
