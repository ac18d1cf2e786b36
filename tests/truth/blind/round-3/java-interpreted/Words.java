import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.TreeMap;
import java.util.concurrent.Executors;

/** PORT: counts the words of a text for each request. */
public class Words {
    static final String TEXT = text();

    static String text() {
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < 8000; i++) all.append("word").append(i * 7919 % 613).append(' ');
        return all.toString();
    }

    static String count() {
        TreeMap<String, Integer> counts = new TreeMap<>();
        int begin = 0;
        for (int i = 0; i < TEXT.length(); i++) {
            if (TEXT.charAt(i) == ' ') {
                counts.merge(TEXT.substring(begin, i), 1, Integer::sum);
                begin = i + 1;
            }
        }
        return counts.firstKey() + " " + counts.size();
    }

    public static void main(String[] words) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 100);
        server.createContext("/", exchange -> {
            byte[] page = count().getBytes();
            exchange.sendResponseHeaders(200, page.length);
            exchange.getResponseBody().write(page);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
