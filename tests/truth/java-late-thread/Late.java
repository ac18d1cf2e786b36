// Three threads that allocate, so that the JVM stops all threads often, beside one in loops that count an int.
public class Late {
    static volatile byte[] garbage;
    static volatile long result;

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 3; i++) {
            new Thread(Late::allocate, "allocator-" + i).start();
        }
        new Thread(Late::count, "counter").start();
    }

    static void allocate() {
        for (;;) {
            garbage = new byte[2000];
        }
    }

    static void count() {
        for (;;) {
            long sum = 0;
            for (int i = 0; i < 100_000_000; i++) {
                sum += i * (sum ^ i);
            }
            result = sum;
        }
    }
}
