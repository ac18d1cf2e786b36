// SPDX-License-Identifier: GPL-2.0-only
//
// Allocates - a Java program whose threads do nothing but allocate: `java Allocates THREADS` says {"pid": ...}, waits for a
// byte, and tells each second how many objects they have made in it, until its input ends.
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.LongAdder;

public class Allocates {
    static final int ROUND = 1000;
    static final LongAdder made = new LongAdder();

    public static void main(String[] arguments) throws Exception {
        System.out.println("{\"pid\": " + ManagementFactory.getRuntimeMXBean().getName().split("@")[0] + "}");
        System.in.read();
        for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
            Thread worker = new Thread(Allocates::allocate, "worker-" + i);
            worker.setDaemon(true);
            worker.start();
        }
        long before = 0, begin = System.nanoTime();
        while (System.in.available() == 0) {
            Thread.sleep(1000);
            long now = made.sum(), end = System.nanoTime();
            System.out.println("{\"per_second\": " + (now - before) * 1_000_000_000L / (end - begin) + "}");
            before = now;
            begin = end;
        }
    }

    static void allocate() {
        byte[][] recent = new byte[ROUND][];
        while (true) {
            for (int i = 0; i < ROUND; i++) {
                recent[i] = new byte[200];
            }
            made.add(ROUND);
        }
    }
}
