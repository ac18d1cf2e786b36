import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** Server PORT: answers from short-lived buffers, while a thread sums up statistics over and over. */
public class Server {
    static final int[] READINGS = new int[1 << 16];
    static volatile int total;

    static int sum(int rounds) {
        int sum = 1;
        for (int number = 0; number < rounds; number++) {
            sum = sum * 31 + READINGS[(sum ^ number) & 0xffff];
        }
        return sum;
    }

    static void statistics() {
        while (true) {
            total = sum(50_000_000);
            try {
                Thread.sleep(20);
            } catch (InterruptedException end) {
                return;
            }
        }
    }

    public static void main(String[] words) throws Exception {
        for (int number = 0; number < READINGS.length; number++) {
            READINGS[number] = number * 7919;
        }
        for (int number = 0; number < 2000; number++) {
            total = sum(20_000);
        }
        var thread = new Thread(Server::statistics, "statistics");
        thread.setDaemon(true);
        thread.start();
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 64);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", exchange -> {
            long length = 0;
            for (int part = 0; part < 14; part++) {
                length += new byte[500_000].length;
            }
            byte[] text = (length + "\n").getBytes();
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
    }
}
