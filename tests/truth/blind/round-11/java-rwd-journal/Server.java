// Server PORT JOURNAL rw|rwd: notes each order in a journal before it confirms it.
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Server {
    static RandomAccessFile journal;

    static synchronized void note(byte[] record) throws IOException {
        for (int part = 0; part < 4; part++) {
            journal.write(record);
        }
    }

    public static void main(String[] words) throws Exception {
        journal = new RandomAccessFile(words[1], words[2]);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 64);
        byte[] record = new byte[200];
        server.createContext("/", exchange -> {
            note(record);
            byte[] answer = "stored\n".getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
