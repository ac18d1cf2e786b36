import com.sun.net.httpserver.HttpServer;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;

/** PORT UPSTREAM own|common: asks the upstream in a pool of its own, or in the common one. */
public class Shop {
    static byte[] ask(String port) {
        try (InputStream answer = new URL("http://127.0.0.1:" + port + "/price").openStream()) {
            return answer.readAllBytes();
        } catch (Exception error) {
            throw new RuntimeException(error);
        }
    }

    public static void main(String[] words) throws Exception {
        Executor pool = words[2].equals("own") ? Executors.newFixedThreadPool(32) : ForkJoinPool.commonPool();
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 100);
        server.createContext("/", exchange -> {
            byte[] price = CompletableFuture.supplyAsync(() -> ask(words[1]), pool).join();
            exchange.sendResponseHeaders(200, price.length);
            exchange.getResponseBody().write(price);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(32));
        server.start();
    }
}
