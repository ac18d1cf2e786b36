// server PORT shared|cloned: looks a product up; every handler gets the state of the application, shared or its own.
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Deref;
use std::sync::Arc;

#[derive(Clone)]
struct State {
    prices: HashMap<String, u32>,
    names: HashMap<String, String>,
}

fn lookup<S: Deref<Target = State>>(state: S, number: usize) -> String {
    let key = format!("product-{}", number % state.prices.len());
    format!("{} {}\n", state.names[&key], state.prices[&key])
}

fn serve(stream: TcpStream, state: Arc<State>, cloned: bool) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut answers = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    for number in 0.. {
        while !lines.next()?.ok()?.is_empty() {}
        let body = if cloned {
            let own: State = (*state).clone();
            lookup(&own, number)
        } else {
            lookup(&*state, number)
        };
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.len(), body);
        answers.write_all(answer.as_bytes()).ok()?;
    }
    None
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let mut state = State { prices: HashMap::new(), names: HashMap::new() };
    for number in 0..60_000u32 {
        state.prices.insert(format!("product-{}", number), number);
        state.names.insert(format!("product-{}", number), format!("the product of number {}", number));
    }
    let state = Arc::new(state);
    let cloned = words[2] == "cloned";
    for stream in TcpListener::bind(format!("127.0.0.1:{}", words[1])).unwrap().incoming() {
        let (stream, state) = (stream.unwrap(), state.clone());
        std::thread::spawn(move || serve(stream, state, cloned));
    }
}
