import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Random;
import java.util.concurrent.Executors;

/** PORT: keeps 180 MB of sessions in its heap, and looks at some of them for each request. */
public class Sessions {
    public static void main(String[] arguments) throws Exception {
        byte[][] sessions = new byte[90000][];
        Random random = new Random(1);
        for (int i = 0; i < sessions.length; i++) {
            sessions[i] = new byte[2000];
            random.nextBytes(sessions[i]);
        }
        var here = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
        HttpServer server = HttpServer.create(here, 128);
        server.createContext("/", exchange -> {
            int sum = 0;
            Random which = new Random();
            for (int i = 0; i < 80; i++) {
                sum += sessions[which.nextInt(sessions.length)][i];
            }
            byte[] answer = (sum + "\n").getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
