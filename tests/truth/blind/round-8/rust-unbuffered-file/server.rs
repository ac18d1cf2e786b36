// PORT EXPORT FILE: exports a table for each request, with a buffer or without.
use std::env::args;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

fn export(mut out: impl Write) -> Result<()> {
    for line in 0..20_000 {
        write!(out, "{},article {},{}\n", line, line % 97, line * 3)?;
    }
    out.flush()
}

fn serve(stream: TcpStream, buffered: bool, path: &str) -> Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let mut answers = stream;
    while let Some(line) = lines.next() {
        if !line?.is_empty() {
            continue;
        }
        let file = File::create(path)?;
        if buffered {
            export(BufWriter::new(file))?
        } else {
            export(file)?
        }
        answers.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n")?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let words: Vec<String> = args().collect();
    let buffered = words[2] == "buffered";
    for stream in TcpListener::bind(format!("127.0.0.1:{}", words[1]))?.incoming() {
        let path = words[3].clone();
        let stream = stream?;
        thread::spawn(move || serve(stream, buffered, &path));
    }
    Ok(())
}
