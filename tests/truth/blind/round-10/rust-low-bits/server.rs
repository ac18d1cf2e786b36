//! server PORT multiply|standard: puts orders into a map for each request.
use std::collections::hash_map::RandomState;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

#[derive(Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

fn merged<S: BuildHasher + Default>() -> usize {
    let mut orders = HashMap::with_hasher(S::default());
    for order in 0..30_000u64 {
        orders.insert(order << 32, order);
    }
    orders.len()
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let merge = match words[2].as_str() {
        "multiply" => merged::<BuildHasherDefault<Multiply>>,
        _ => merged::<RandomState>,
    };
    let listener = TcpListener::bind(format!("127.0.0.1:{}", words[1])).expect("a port");
    for connection in listener.incoming() {
        let mut connection = connection.expect("a connection");
        connection.set_nodelay(true).expect("an option");
        let lines = BufReader::new(connection.try_clone().expect("a descriptor")).lines();
        for line in lines {
            let Ok(line) = line else { break };
            if !line.is_empty() {
                continue;
            }
            let text = format!("{}\n", merge());
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len());
            if connection.write_all(answer.as_bytes()).is_err() {
                break;
            }
        }
    }
}
