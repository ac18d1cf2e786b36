import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** PORT LOOKUPS: requests and lookups in the same pool, or each in their own. */
public class Shop {
	static int price(int article) {
		int sum = 0;
		for (int step = 0; step < 200_000; step++)
			sum += Integer.toString(article * step).hashCode();
		return sum;
	}

	static int of(Future<Integer> lookup) {
		try {
			return lookup.get();
		} catch (CancellationException | InterruptedException | ExecutionException late) {
			return 0;
		}
	}

	public static void main(String[] arguments) throws IOException {
		ExecutorService requests = Executors.newFixedThreadPool(4);
		ExecutorService lookups = arguments[1].equals("same") ? requests : Executors.newFixedThreadPool(4);
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 50);
		server.createContext("/", exchange -> {
			int sum = 0;
			try {
				for (Future<Integer> lookup : lookups.invokeAll(List.<Callable<Integer>>of(() -> price(1), () -> price(2)), 800, TimeUnit.MILLISECONDS))
					sum += of(lookup);
			} catch (InterruptedException ended) {
				Thread.currentThread().interrupt();
			}
			byte[] answer = ("costs " + sum).getBytes();
			exchange.sendResponseHeaders(200, answer.length);
			exchange.getResponseBody().write(answer);
			exchange.close();
		});
		server.setExecutor(requests);
		server.start();
	}
}
