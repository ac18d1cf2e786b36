import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

/** Server PORT finalizer|closed: makes handles for each request, which are let go by finalizers or closed at once. */
public class Server {
    static final int HANDLES = 60_000;
    static final AtomicLong OPEN = new AtomicLong();

    static class Handle {
        final long number = OPEN.incrementAndGet();
        byte[] text = new byte[64];

        void close() {
            OPEN.decrementAndGet();
        }
    }

    static class SafeHandle extends Handle {
        @Override
        protected void finalize() {
            close();
        }
    }

    static long use(boolean finalizer) {
        long sum = 0;
        for (int count = 0; count < HANDLES; count++) {
            Handle handle = finalizer ? new SafeHandle() : new Handle();
            sum += handle.number + handle.text.length;
            if (!finalizer) {
                handle.close();
            }
        }
        return sum;
    }

    public static void main(String[] words) throws Exception {
        boolean finalizer = words[1].equals("finalizer");
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 64);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", exchange -> {
            byte[] text = (use(finalizer) + "\n").getBytes();
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
    }
}
