import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import org.apache.http.client.methods.HttpGet;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.impl.conn.PoolingHttpClientConnectionManager;
import org.apache.http.util.EntityUtils;

/** Server PORT UPSTREAM LIMIT: asks an upstream for each request, over so many connections. */
public class Server {
    public static void main(String[] words) throws IOException {
        var pool = new PoolingHttpClientConnectionManager();
        pool.setMaxTotal(200);
        pool.setDefaultMaxPerRoute(Integer.parseInt(words[2]));
        var client = HttpClients.custom().setConnectionManager(pool).build();
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(words[0]));
        var server = HttpServer.create(address, 128);
        server.setExecutor(Executors.newFixedThreadPool(40));
        server.createContext("/", exchange -> {
            byte[] text;
            try (var answer = client.execute(new HttpGet("http://127.0.0.1:" + words[1] + "/"))) {
                text = EntityUtils.toByteArray(answer.getEntity());
            }
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
    }
}
