// SPDX-License-Identifier: GPL-2.0-only
//
// Stops - a Java program that stops all its threads a known number of times, for next to nothing: to look for deadlocks.
// `java Stops.java COUNT` says {"pid": ...} and waits for a byte.
import java.lang.management.ManagementFactory;

public class Stops {
    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]);
        var threads = ManagementFactory.getThreadMXBean();
        for (int i = 0; i < count; i++) { // until it is compiled
            threads.findDeadlockedThreads();
        }
        System.out.println("{\"pid\": " + ProcessHandle.current().pid() + "}");
        System.in.read();
        long begin = System.nanoTime();
        for (int i = 0; i < count; i++) {
            threads.findDeadlockedThreads();
        }
        System.out.println("{\"elapsed_ns\": " + (System.nanoTime() - begin) + "}");
    }
}
