import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;

public class Server {
    private static final Pattern TRIM = Pattern.compile("^[\\s\\u200c]+|[\\s\\u200c]+$");

    public static void main(String[] arguments) throws Exception {
        String post = "-- play happy sound for player to enjoy" + " ".repeat(Integer.parseInt(arguments[1])) + "!";
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 100);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", exchange -> {
            byte[] page = TRIM.matcher(post).replaceAll("").substring(0, 20).getBytes();
            exchange.sendResponseHeaders(200, page.length);
            exchange.getResponseBody().write(page);
            exchange.close();
        });
        server.start();
    }
}
