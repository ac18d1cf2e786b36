// SPDX-License-Identifier: GPL-2.0-only
//
// Classes - a Java program that loads the same class a known number of times, each time by a loader that is dropped.
// `java Classes.java COUNT` says {"pid": ...}, waits for a byte, and tells what the JVM itself has counted.
import java.lang.management.ManagementFactory;

public class Classes {
    static class Copied {
    }

    static class Loader extends ClassLoader {
        void define(byte[] bytes) {
            defineClass(null, bytes, 0, bytes.length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        var bytes = Classes.class.getClassLoader().getResourceAsStream("Classes$Copied.class").readAllBytes();
        load(bytes, Integer.parseInt(arguments[0])); // loads what measuring needs, and until it is compiled
        System.out.println("{\"pid\": " + ProcessHandle.current().pid() + "}");
        System.in.read();
        System.out.println(load(bytes, Integer.parseInt(arguments[0])));
    }

    static String load(byte[] bytes, int count) {
        var counted = ManagementFactory.getClassLoadingMXBean();
        long loaded = counted.getTotalLoadedClassCount(), unloaded = counted.getUnloadedClassCount();
        long before = fullCollections(), begin = System.nanoTime();
        for (int i = 0; i < count; i++) {
            new Loader().define(bytes);
        }
        long elapsed = System.nanoTime() - begin;
        long full = fullCollections() - before;
        System.gc();
        long after = counted.getTotalLoadedClassCount() - loaded, gone = counted.getUnloadedClassCount() - unloaded;
        long used = ManagementFactory.getMemoryPoolMXBeans().stream().filter(pool -> pool.getName().equals("Metaspace"))
                .mapToLong(pool -> pool.getUsage().getUsed()).sum();
        return "{\"elapsed_ns\": " + elapsed + ", \"loaded\": " + after + ", \"unloaded\": " + gone
                + ", \"used_bytes\": " + used + ", \"full_collections\": " + full + "}";
    }

    static long fullCollections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().filter(bean -> !bean.getName().equals("Copy"))
                .mapToLong(bean -> bean.getCollectionCount()).sum();
    }
}
