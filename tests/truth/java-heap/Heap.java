// Three threads that allocate at a steady pace, beside objects that live for ever and others that live for a while.
public class Heap {
    static final int KIB = 1008; // bytes of an array that takes 1 KiB with its header
    static byte[][] live;
    static volatile byte[] garbage;

    public static void main(String[] arguments) throws Exception {
        live = new byte[Integer.parseInt(System.getenv("LIVE_KIB"))][];
        for (int i = 0; i < live.length; i++) {
            live[i] = new byte[KIB];
        }
        int recent = Integer.parseInt(System.getenv("RECENT_KIB")) / 3;
        for (int i = 0; i < 3; i++) {
            new Thread(() -> allocate(recent), "worker-" + i).start();
        }
        Thread.currentThread().join();
    }

    static void allocate(int recent) {
        byte[][] kept = new byte[recent][];
        for (int i = 0;; i = (i + 1) % recent) {
            kept[i] = new byte[KIB];
            garbage = new byte[KIB];
            if (i % 512 == 0) {
                try {
                    Thread.sleep(5);
                } catch (InterruptedException error) {
                    return;
                }
            }
        }
    }
}
