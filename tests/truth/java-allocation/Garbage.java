// Three threads that each make half a MiB of garbage and pause, or do not; they keep the last 1.5 MiB of it.
public class Garbage {
    static final int KEPT = 1500;

    public static void main(String[] arguments) throws Exception {
        long pause = Long.parseLong(System.getenv("PACE_MS"));
        for (int i = 0; i < 3; i++) {
            new Thread(() -> allocate(pause), "worker-" + i).start();
        }
        Thread.currentThread().join();
    }

    static void allocate(long pause) {
        byte[][] kept = new byte[KEPT][];
        for (int at = 0;;) {
            for (int i = 0; i < 500; i++, at = (at + 1) % KEPT) {
                kept[at] = new byte[1000];
            }
            if (pause > 0) {
                try {
                    Thread.sleep(pause);
                } catch (InterruptedException error) {
                    return;
                }
            }
        }
    }
}
