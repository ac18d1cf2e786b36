import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Server PORT all|each: answers how many orders are open when those that are done have been taken out of them. */
public class Server {
    static List<String> orders(int from, int to) {
        return IntStream.range(from, to).mapToObj(number -> "order " + number).collect(Collectors.toList());
    }

    static int open(List<String> every, List<String> done, boolean all) {
        Set<String> open = new HashSet<>(every);
        if (all) {
            open.removeAll(done);
        } else {
            done.forEach(open::remove);
        }
        return open.size();
    }

    public static void main(String[] words) throws Exception {
        var every = orders(0, 4000);
        var done = orders(3900, 9000);
        boolean all = words[1].equals("all");
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 64);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", exchange -> {
            byte[] text = (open(every, done, all) + "\n").getBytes();
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
    }
}
