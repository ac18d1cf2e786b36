import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import javax.xml.parsers.DocumentBuilderFactory;

/** Orders PORT UPSTREAM LOAD: parses an order in XML whose document type is at some other server. */
public class Orders {
	static byte[] order;
	static boolean load;

	static void answer(HttpExchange exchange) throws IOException {
		int items;
		try {
			DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
			factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", load);
			items = factory.newDocumentBuilder().parse(new ByteArrayInputStream(order))
				.getElementsByTagName("item").getLength();
		} catch (Exception error) {
			throw new IOException(error);
		}
		byte[] body = (items + " items\n").getBytes();
		exchange.sendResponseHeaders(200, body.length);
		exchange.getResponseBody().write(body);
		exchange.close();
	}

	public static void main(String[] arguments) throws IOException {
		StringBuilder text = new StringBuilder("<?xml version=\"1.0\"?>\n<!DOCTYPE order SYSTEM \"http://127.0.0.1:"
			+ arguments[1] + "/DTD/order.dtd\">\n<order>");
		for (int item = 0; item < 30; item++)
			text.append("<item><number>").append(item).append("</number></item>");
		order = text.append("</order>").toString().getBytes();
		load = arguments[2].equals("true");
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 128);
		server.createContext("/", Orders::answer);
		server.setExecutor(Executors.newFixedThreadPool(16));
		server.start();
	}
}
