// server PORT WORKERS one|all: hands connections to a pool of threads.
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

type Queue = Arc<(Mutex<VecDeque<TcpStream>>, Condvar)>;

fn serve(mut connection: TcpStream) -> std::io::Result<()> {
    let mut request = [0u8; 4096];
    connection.read(&mut request)?;
    connection.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\ndone\n")
}

fn work(queue: Queue) {
    loop {
        let mut waiting = queue.0.lock().unwrap();
        let connection = loop {
            match waiting.pop_front() {
                Some(connection) => break connection,
                None => waiting = queue.1.wait(waiting).unwrap(),
            }
        };
        drop(waiting);
        let _ = serve(connection);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let queue: Queue = Arc::new((Mutex::new(VecDeque::new()), Condvar::new()));
    for _ in 0..words[2].parse().unwrap() {
        let queue = queue.clone();
        thread::Builder::new().stack_size(64 << 10).spawn(move || work(queue)).unwrap();
    }
    let listener = TcpListener::bind(("127.0.0.1", words[1].parse().unwrap())).unwrap();
    for connection in listener.incoming().flatten() {
        queue.0.lock().unwrap().push_back(connection);
        if words[3] == "all" {
            queue.1.notify_all();
        } else {
            queue.1.notify_one();
        }
    }
}
