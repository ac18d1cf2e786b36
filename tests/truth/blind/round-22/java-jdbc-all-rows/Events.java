import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.Executors;

/** Shows the latest events. */
public class Events {
    static final int SHOWN = 20;

    static final ThreadLocal<Connection> CONNECTION = ThreadLocal.withInitial(() -> {
        try {
            Connection made = DriverManager.getConnection("jdbc:postgresql://127.0.0.1/postgres", "postgres", "");
            made.setAutoCommit(Boolean.parseBoolean(System.getenv("AUTOCOMMIT")));
            return made;
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
    });

    static String latest() throws SQLException {
        StringBuilder page = new StringBuilder();
        Connection connection = CONNECTION.get();
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(SHOWN);
            try (ResultSet rows = statement.executeQuery("SELECT id, kind, body FROM events ORDER BY id DESC")) {
                for (int row = 0; row < SHOWN && rows.next(); row++) {
                    page.append(rows.getInt(1)).append(' ').append(rows.getString(2)).append('\n');
                }
            }
        }
        if (!connection.getAutoCommit()) {
            connection.commit();
        }
        return page.toString();
    }

    static void answer(HttpExchange exchange) throws IOException {
        byte[] page;
        try {
            page = latest().getBytes();
            exchange.sendResponseHeaders(200, page.length);
        } catch (SQLException | RuntimeException error) {
            error.printStackTrace();
            page = new byte[] {'!'};
            exchange.sendResponseHeaders(500, page.length);
        }
        exchange.getResponseBody().write(page);
        exchange.close();
    }

    public static void main(String[] arguments) throws IOException {
        int port = Integer.parseInt(System.getenv("PORT"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 128);
        server.createContext("/latest", Events::answer);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
    }
}
