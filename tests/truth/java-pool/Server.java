// A pool of 16 threads whose requests share one lock, a monitor or a ReentrantLock, and compute while they hold it.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;

public class Server {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final long HOLD_NS = Long.parseLong(System.getenv("HOLD_US")) * 1000;

    static void hold() {
        long end = System.nanoTime() + HOLD_NS;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }

    static void withMonitor() {
        synchronized (MONITOR) {
            hold();
        }
    }

    static void withLock() {
        LOCK.lock();
        try {
            hold();
        } finally {
            LOCK.unlock();
        }
    }

    public static void main(String[] arguments) throws Exception {
        boolean monitor = System.getenv("LOCK").equals("monitor");
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(System.getenv("PORT")));
        var server = HttpServer.create(address, 128);
        server.createContext("/", exchange -> {
            if (monitor) {
                withMonitor();
            } else {
                withLock();
            }
            byte[] body = "done\n".getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.start();
    }
}
