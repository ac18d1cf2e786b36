// Server PORT COLLECTOR one|two: confirms requests by a timer, on which metrics may be sent, too.
import com.sun.net.httpserver.HttpServer;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;

public class Server {
    static TimerTask task(Runnable work) {
        return new TimerTask() {
            @Override
            public void run() {
                work.run();
            }
        };
    }

    static void sendMetrics(int port) {
        try (Socket collector = new Socket("127.0.0.1", port)) {
            OutputStream out = collector.getOutputStream();
            out.write("POST / HTTP/1.1\r\nHost: collector\r\n\r\n".getBytes());
            InputStream in = collector.getInputStream();
            in.read(new byte[1000]);
        } catch (java.io.IOException error) {
            System.err.println(error);
        }
    }

    public static void main(String[] words) throws Exception {
        Timer confirmations = new Timer("confirmations");
        Timer metrics = words[2].equals("one") ? confirmations : new Timer("metrics");
        int collector = Integer.parseInt(words[1]);
        metrics.schedule(task(() -> sendMetrics(collector)), 500, 500);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 64);
        byte[] answer = "confirmed\n".getBytes();
        server.createContext("/", exchange -> {
            CompletableFuture<byte[]> confirmed = new CompletableFuture<>();
            confirmations.schedule(task(() -> confirmed.complete(answer)), 0);
            byte[] said = confirmed.join();
            exchange.sendResponseHeaders(200, said.length);
            exchange.getResponseBody().write(said);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.start();
    }
}
