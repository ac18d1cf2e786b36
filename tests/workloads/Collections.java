// SPDX-License-Identifier: GPL-2.0-only
//
// Collections - a Java program that collects its whole heap a known number of times, beside objects that live.
// `java Collections.java OBJECTS COUNT [THREADS]` says {"pid": ...}, waits for a byte, and tells what the JVM itself has
// counted.  THREADS threads, called "spinner", compute meanwhile.
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

public class Collections {
    static byte[][] live;
    static volatile long turns;

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[1]);
        live = new byte[Integer.parseInt(arguments[0])][];
        for (int i = 0; i < live.length; i++) {
            live[i] = new byte[20];
        }
        for (int i = 0; i < (arguments.length > 2 ? Integer.parseInt(arguments[2]) : 0); i++) {
            Thread spinner = new Thread(Collections::spin, "spinner");
            spinner.setDaemon(true);
            spinner.start();
        }
        System.out.println("{\"pid\": " + ManagementFactory.getRuntimeMXBean().getName().split("@")[0] + "}"); // as in JDK 8
        System.in.read();
        long before = collections(), beforeMs = milliseconds(), begin = System.nanoTime();
        for (int i = 0; i < count; i++) {
            System.gc();
        }
        long elapsed = System.nanoTime() - begin;
        System.out.println("{\"elapsed_ns\": " + elapsed + ", \"collections\": " + (collections() - before)
                + ", \"collection_ms\": " + (milliseconds() - beforeMs) + "}");
        while (System.in.read() >= 0) { // it lives as long as somebody looks at it
        }
    }

    static void spin() {
        while (true) {
            turns++;
        }
    }

    static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionCount).sum();
    }

    static long milliseconds() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionTime).sum();
    }
}
