// A thread for every connection, and one Mutex that all requests hold while they compute.
use std::env::var;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n";

fn serve(mut stream: TcpStream, shared: Arc<Mutex<u64>>, hold: Duration) {
    let mut request = [0; 4096];
    while matches!(stream.read(&mut request), Ok(length) if length > 0) {
        {
            let mut count = shared.lock().unwrap();
            let end = Instant::now() + hold;
            while Instant::now() < end {
                *count += 1;
            }
        }
        if stream.write_all(ANSWER).is_err() {
            return;
        }
    }
}

fn main() {
    let number = |name: &str| var(name).unwrap().parse::<u64>().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", number("PORT") as u16)).unwrap();
    let hold = Duration::from_micros(number("HOLD_US"));
    let shared = Arc::new(Mutex::new(0));
    for stream in listener.incoming().flatten() {
        let shared = shared.clone();
        thread::spawn(move || serve(stream, shared, hold));
    }
}
