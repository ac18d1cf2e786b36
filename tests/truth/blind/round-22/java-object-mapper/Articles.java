import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

/** A page of articles as lines of JSON. */
public class Articles {
    public record Size(int width, int height, int depth) {}

    public record Maker(String name, String city, List<String> brands) {}

    public record Article(int id, String name, BigDecimal price, Size size, Maker maker, Map<String, String> labels) {}

    /** What all of the service calls. */
    static class Json {
        static final ObjectMapper ONE = new ObjectMapper();
        static final boolean ANEW = "new".equals(System.getenv("MAPPER"));

        static String of(Object value) throws IOException {
            ObjectMapper mapper = ANEW ? new ObjectMapper() : ONE;
            return mapper.writeValueAsString(value);
        }
    }

    static String page() throws IOException {
        StringBuilder page = new StringBuilder();
        for (int number = 0; number < 60; number++) {
            Article article = new Article(number, "article " + number, new BigDecimal("19.95"), new Size(1, 2, 3),
                    new Maker("maker", "city", List.of("a", "b")), Map.of("color", "red", "size", "XL"));
            page.append(Json.of(article)).append('\n');
        }
        return page.toString();
    }

    static void answer(HttpExchange exchange) throws IOException {
        byte[] page = page().getBytes();
        exchange.sendResponseHeaders(200, page.length);
        exchange.getResponseBody().write(page);
        exchange.close();
    }

    public static void main(String[] arguments) throws IOException {
        int port = Integer.parseInt(System.getenv("PORT"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 128);
        server.createContext("/articles", Articles::answer);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
    }
}
