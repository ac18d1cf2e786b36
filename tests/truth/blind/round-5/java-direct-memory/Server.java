import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;

/** PORT KEEP: answers with a direct buffer of 8 MB in between, a new one for each request or one that is kept. */
class Server {
    static final Map<Integer, String> SESSIONS = new HashMap<>();
    static final ConcurrentLinkedQueue<ByteBuffer> KEPT = new ConcurrentLinkedQueue<>();

    static long work(boolean keep) {
        ByteBuffer buffer = keep ? KEPT.poll() : null;
        if (buffer == null) {
            buffer = ByteBuffer.allocateDirect(8 << 20);
        }
        long sum = 0;
        for (int at = 0; at < buffer.capacity(); at += 4096) {
            buffer.putLong(at, at);
            sum += buffer.getLong(at);
        }
        if (keep) {
            KEPT.add(buffer);
        }
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        boolean keep = arguments[1].equals("1");
        for (int number = 0; number < 1_600_000; number++) {
            SESSIONS.put(number, "session of user " + number);
        }
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
        HttpServer server = HttpServer.create(address, 100);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", exchange -> {
            byte[] answer = (work(keep) + " " + SESSIONS.size() + "\n").getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
    }
}
