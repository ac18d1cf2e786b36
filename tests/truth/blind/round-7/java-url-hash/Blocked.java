// PORT URL|URI: tells whether the address in a request's path is one of those that are blocked.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Executors;

public class Blocked {
    static final Set<URL> urls = new HashSet<>();
    static final Set<URI> uris = new HashSet<>();

    static boolean blocked(String address, boolean asUrl) throws Exception {
        return asUrl ? urls.contains(new URL(address)) : uris.contains(new URI(address));
    }

    public static void main(String[] arguments) throws Exception {
        boolean asUrl = arguments[1].equals("URL");
        urls.add(new URL("http://127.0.0.1/bad"));
        uris.add(new URI("http://127.0.0.1/bad"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 128);
        server.createContext("/", exchange -> {
            try {
                byte[] answer = String.valueOf(blocked("http:/" + exchange.getRequestURI(), asUrl)).getBytes();
                exchange.sendResponseHeaders(200, answer.length);
                exchange.getResponseBody().write(answer);
            } catch (Exception error) {
                error.printStackTrace();
            }
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
