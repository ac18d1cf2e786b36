// server PORT: tells which word of a list is the closest to the one that is asked for.
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, one) in left.chars().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (column, other) in right.iter().enumerate() {
            let changed = corner + usize::from(one != *other);
            corner = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(corner + 1);
        }
    }
    row[right.len()]
}

fn serve(mut stream: TcpStream, words: Arc<Vec<String>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while let Some(first) = lines.next() {
        let first = first?;
        let asked = first.split(' ').nth(1).unwrap_or("").to_string();
        while !lines.next().unwrap_or(Ok(String::new()))?.is_empty() {}
        let closest = words.iter().min_by_key(|word| distance(word, &asked)).unwrap();
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", closest.len(), closest)?;
    }
    Ok(())
}

fn main() {
    let words: Vec<String> = (0..1500).map(|number| format!("word-{}-of-the-list", number * 7919)).collect();
    let words = Arc::new(words);
    let listener = TcpListener::bind(format!("127.0.0.1:{}", std::env::args().nth(1).unwrap())).unwrap();
    for stream in listener.incoming().flatten() {
        let words = words.clone();
        std::thread::spawn(move || serve(stream, words));
    }
}
