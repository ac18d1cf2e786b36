// SPDX-License-Identifier: GPL-2.0-only
//
// Computes - a Java program that computes in one method: `java Computes` says {"pid": ...}, waits for a byte, and computes
// in Computes.grind() until its input ends.
public class Computes {
    static volatile long sum;
    static volatile boolean over;

    public static void main(String[] arguments) throws Exception {
        System.out.println("{\"pid\": " + ProcessHandle.current().pid() + "}");
        System.in.read();
        Thread worker = new Thread(() -> {
            while (!over) {
                sum += grind(1_000_000);
            }
        }, "worker");
        worker.start();
        while (System.in.read() >= 0) {
        }
        over = true;
        worker.join();
        System.out.println("{\"sum\": " + sum + "}");
    }

    static long grind(long count) {
        long found = 0;
        for (long i = 0; i < count; i++) {
            found += i * i ^ found >>> 3;
        }
        return found;
    }
}
