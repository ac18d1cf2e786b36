import com.sun.net.httpserver.HttpServer;
import java.io.FileInputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.KeyStore;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** Shop PORT KEYSTORE shared|each: prepares a payment for each request, with a TLS context that is shared, or made anew. */
class Shop {
	private static final char[] PASSWORD = "changeit".toCharArray();

	private static SSLContext context(String name) throws Exception {
		KeyStore keys = KeyStore.getInstance("PKCS12");
		try (var file = new FileInputStream(name)) {
			keys.load(file, PASSWORD);
		}
		KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
		managers.init(keys, PASSWORD);
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(managers.getKeyManagers(), null, null);
		return context;
	}

	public static void main(String[] arguments) throws Exception {
		SSLContext shared = context(arguments[1]);
		boolean each = arguments[2].equals("each");
		var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0])), 100);
		server.setExecutor(Executors.newFixedThreadPool(8));
		server.createContext("/", exchange -> {
			try {
				SSLContext context = each ? context(arguments[1]) : shared;
				byte[] body = (context.createSSLEngine("bank.example.org", 443).getPeerHost() + "\n").getBytes();
				exchange.sendResponseHeaders(200, body.length);
				exchange.getResponseBody().write(body);
			} catch (Exception error) {
				error.printStackTrace();
			}
			exchange.close();
		});
		server.start();
	}
}
