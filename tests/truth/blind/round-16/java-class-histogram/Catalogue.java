import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;

/** Catalogue PORT: a server with a catalogue of 3 million objects in its heap. */
public class Catalogue {
	record Item(int number, String name, long cents) {
	}

	public static void main(String[] arguments) throws IOException {
		List<Item> items = new ArrayList<>();
		for (int number = 0; number < 3_000_000; number++)
			items.add(new Item(number, Integer.toString(number), number * 7L));
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 128);
		server.createContext("/", exchange -> {
			long sum = 0;
			for (int number = 0; number < 200; number++)
				sum += items.get((number * 7919) % items.size()).cents();
			byte[] body = (sum + "\n").getBytes();
			exchange.sendResponseHeaders(200, body.length);
			exchange.getResponseBody().write(body);
			exchange.close();
		});
		server.setExecutor(Executors.newFixedThreadPool(16));
		server.start();
	}
}
