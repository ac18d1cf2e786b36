import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

/** Search PORT: goes through articles that are kept, and makes a line of each that fits. */
class Search {
	private static final Map<Integer, String> ARTICLES = new HashMap<>();

	public static void main(String[] arguments) throws Exception {
		for (int number = 0; number < 600_000; number++)
			ARTICLES.put(number, "article " + number);
		var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0])), 100);
		server.setExecutor(Executors.newFixedThreadPool(8));
		server.createContext("/", exchange -> {
			List<String> found = new ArrayList<>();
			for (int number = 0; number < 120_000; number++) {
				String line = number + ": " + ARTICLES.get(number);
				if (line.contains("7"))
					found.add(line);
			}
			byte[] body = (found.size() + " articles\n").getBytes();
			exchange.sendResponseHeaders(200, body.length);
			exchange.getResponseBody().write(body);
			exchange.close();
		});
		server.start();
	}
}
