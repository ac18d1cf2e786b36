import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import org.apache.log4j.BasicConfigurator;
import org.apache.log4j.Logger;

class LoggingServer {
    private static final Logger LOG = Logger.getLogger(LoggingServer.class);

    public static void main(String[] arguments) throws Exception {
        BasicConfigurator.configure();
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 100);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", exchange -> {
            LOG.info("begin " + exchange.getRequestURI() + " " + "x".repeat(450));
            byte[] page = "ok".getBytes();
            LOG.info("end " + exchange.getRequestURI() + " " + "x".repeat(450));
            exchange.sendResponseHeaders(200, page.length);
            exchange.getResponseBody().write(page);
            exchange.close();
        });
        server.start();
    }
}
