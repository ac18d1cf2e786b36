import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** Server PORT thrown|looked: counts the fields of a table that are numbers, deep inside a chain of interceptors. */
public class Server {
    static final String[] FIELDS = new String[4000];

    static boolean tried(String text) {
        try {
            Integer.parseInt(text);
            return true;
        } catch (NumberFormatException none) {
            return false;
        }
    }

    static boolean looked(String text) {
        return !text.isEmpty() && text.chars().allMatch(Character::isDigit);
    }

    static int numbers(boolean thrown) {
        int found = 0;
        for (String field : FIELDS) {
            found += (thrown ? tried(field) : looked(field)) ? 1 : 0;
        }
        return found;
    }

    static int intercepted(int depth, boolean thrown) {
        int found = depth == 0 ? numbers(thrown) : intercepted(depth - 1, thrown);
        return found < 0 ? -1 : found;
    }

    public static void main(String[] words) throws Exception {
        for (int number = 0; number < FIELDS.length; number++) {
            FIELDS[number] = number % 10 == 0 ? "" + number : "field " + number;
        }
        boolean thrown = words[1].equals("thrown");
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 64);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", exchange -> {
            byte[] text = (intercepted(200, thrown) + "\n").getBytes();
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
    }
}
