import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** Pages made of a template in the jar of a theme: Pages JAR USE_CACHES. */
public class Pages {
    private static URL template;
    private static boolean caches;

    static String load() throws Exception {
        URLConnection connection = template.openConnection();
        connection.setUseCaches(caches);
        try (InputStream stream = connection.getInputStream()) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    static byte[] page() throws Exception {
        return load().replace("$title", "welcome").getBytes(StandardCharsets.UTF_8);
    }

    public static void main(String[] arguments) throws Exception {
        template = new URL("jar:" + new File(arguments[0]).toURI() + "!/templates/page.html");
        caches = Boolean.parseBoolean(arguments[1]);
        int port = Integer.parseInt(System.getenv("PORT"));
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 64);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", exchange -> {
            try {
                byte[] answer = page();
                exchange.sendResponseHeaders(200, answer.length);
                exchange.getResponseBody().write(answer);
            } catch (Exception failure) {
                throw new java.io.IOException(failure);
            } finally {
                exchange.close();
            }
        });
        server.start();
    }
}
