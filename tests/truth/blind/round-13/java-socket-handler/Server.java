import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.Executors;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.logging.StreamHandler;

/** Server PORT COLLECTOR: logs the whole document of each request to a collector, as SocketHandler does it. */
public class Server {
    static class CollectorHandler extends StreamHandler {
        CollectorHandler(Socket socket) throws IOException {
            super(socket.getOutputStream(), new SimpleFormatter());
        }

        @Override
        public synchronized void publish(LogRecord record) {
            super.publish(record);
            flush();
        }
    }

    public static void main(String[] words) throws Exception {
        var socket = new Socket();
        socket.setSendBufferSize(32768);
        socket.connect(new InetSocketAddress("10.9.0.2", Integer.parseInt(words[1])));
        var logger = Logger.getLogger("documents");
        logger.setUseParentHandlers(false);
        logger.addHandler(new CollectorHandler(socket));
        String document = "<line>a line of the document</line>\n".repeat(9000);
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 64);
        server.setExecutor(Executors.newFixedThreadPool(16));
        byte[] text = "taken\n".getBytes();
        server.createContext("/", exchange -> {
            logger.info(document);
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
    }
}
