import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

/** Bulkhead PORT UPSTREAM always|after-success: eight calls at once; permits come back always, or not after errors. */
class Bulkhead {
    static final Semaphore PERMITS = new Semaphore(8);

    static void call(URL upstream, boolean always) throws IOException {
        PERMITS.acquireUninterruptibly();
        boolean done = false;
        try {
            upstream.openStream().readAllBytes();
            done = true;
        } finally {
            if (done || always)
                PERMITS.release();
        }
    }

    public static void main(String[] words) throws Exception {
        URL upstream = URI.create("http://127.0.0.1:" + words[1] + "/").toURL();
        URL absent = URI.create("http://127.0.0.1:1/").toURL();
        boolean always = words[2].equals("always");
        for (int error = 0; error < 7; error++)
            try {
                call(absent, always);
            } catch (IOException expected) {
                // the day of errors
            }
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 128);
        server.setExecutor(Executors.newFixedThreadPool(12));
        server.createContext("/", exchange -> {
            call(upstream, always);
            exchange.sendResponseHeaders(200, 5);
            exchange.getResponseBody().write("done\n".getBytes());
            exchange.close();
        });
        server.start();
    }
}
