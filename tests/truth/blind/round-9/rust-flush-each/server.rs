// server PORT LOG each|no: an order is answered when one thread has written it to a log.
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};
use std::thread;

type Order = (Vec<u8>, Sender<()>);

fn write_log(path: String, sync: bool, orders: Receiver<Order>) {
    let mut log = File::create(path).unwrap();
    for (text, done) in orders {
        log.write_all(&text).unwrap();
        if sync {
            log.sync_data().unwrap();
        }
        let _ = done.send(());
    }
}

fn serve(mut connection: TcpStream, orders: SyncSender<Order>) -> std::io::Result<()> {
    let mut request = [0u8; 4096];
    let (done, written) = channel();
    connection.set_nodelay(true)?;
    while let Ok(length @ 1..) = connection.read(&mut request) {
        orders.send((request[..length].to_vec(), done.clone())).unwrap();
        written.recv().unwrap();
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n")?;
    }
    Ok(())
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (orders, received) = sync_channel(2);
    let (path, sync) = (words[2].clone(), words[3] == "each");
    thread::spawn(move || write_log(path, sync, received));
    let listener = TcpListener::bind(("127.0.0.1", words[1].parse().unwrap())).unwrap();
    for connection in listener.incoming().flatten() {
        let orders = orders.clone();
        thread::spawn(move || serve(connection, orders));
    }
}
