// SPDX-License-Identifier: GPL-2.0-only
//
// Pressure - a Java program whose threads allocate, beside objects that live: `java Pressure LIVE_KIB THREADS` says
// {"pid": ...}, waits for a byte, works until its input ends, and tells how often the JVM has collected meanwhile; without
// any input it works for ever.
// Some of what the threads allocate they put into one list, guarded by a monitor.
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

public class Pressure {
    static final List<byte[]> SHARED = new ArrayList<>();
    static byte[][] live;
    static volatile byte[] garbage;

    public static void main(String[] arguments) throws Exception {
        live = new byte[Integer.parseInt(arguments[0])][];
        for (int i = 0; i < live.length; i++) {
            live[i] = new byte[1008]; // 1 KiB with its header
        }
        System.out.println("{\"pid\": " + ManagementFactory.getRuntimeMXBean().getName().split("@")[0] + "}"); // as in JDK 8
        boolean forever = System.in.read() < 0;
        long before = collections(), beforeMs = milliseconds();
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            Thread worker = new Thread(Pressure::allocate, "worker-" + i);
            worker.setDaemon(true);
            worker.start();
        }
        if (forever) {
            Thread.currentThread().join();
        }
        while (System.in.read() >= 0) {
        }
        System.out.println("{\"collections\": " + (collections() - before) + ", \"collection_ms\": "
                + (milliseconds() - beforeMs) + "}");
        System.exit(0);
    }

    static void allocate() {
        for (long i = 0;; i++) {
            garbage = new byte[2000];
            if (i % 4 == 0) {
                synchronized (SHARED) {
                    SHARED.add(new byte[500]);
                    if (SHARED.size() > 1000) {
                        SHARED.clear();
                    }
                }
            }
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
