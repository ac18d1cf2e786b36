import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;

/** Server PORT UPSTREAM inside|outside: the price of an article, which is asked once for all who want it just now. */
class Server {
	static final ConcurrentHashMap<String, String> asked = new ConcurrentHashMap<>();
	static final ConcurrentHashMap<String, CompletableFuture<String>> begun = new ConcurrentHashMap<>();
	static final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
	static URI upstream;

	static String load(String article) {
		try {
			var request = HttpRequest.newBuilder(upstream.resolve("/prices/" + article)).build();
			return client.send(request, HttpResponse.BodyHandlers.ofString()).body();
		} catch (Exception error) {
			throw new IllegalStateException(error);
		}
	}

	static String inside(String article) {
		String price = asked.computeIfAbsent(article, Server::load);
		asked.remove(article);
		return price;
	}

	static String outside(String article) {
		var mine = new CompletableFuture<String>();
		var other = begun.putIfAbsent(article, mine);
		if (other != null) return other.join();
		mine.complete(load(article));
		begun.remove(article);
		return mine.join();
	}

	public static void main(String[] arguments) throws Exception {
		upstream = URI.create("http://127.0.0.1:" + arguments[1]);
		boolean inside = arguments[2].equals("inside");
		var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0])), 128);
		server.setExecutor(Executors.newFixedThreadPool(100));
		server.createContext("/", exchange -> {
			String article = exchange.getRequestURI().getPath().substring(1);
			byte[] body = (inside ? inside(article) : outside(article)).getBytes();
			exchange.sendResponseHeaders(200, body.length);
			exchange.getResponseBody().write(body);
			exchange.close();
		});
		server.start();
	}
}
