//! The other end: an HTTP service that applies each message in one transaction with its receipt. It refuses some, loses
//! some answers, and applies some after the relay has given up waiting.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use surefoot::core::id::MessageId;
use surefoot::core::payload::Payload;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::Said;
use super::base::Base;
use super::process::LEASE;

#[derive(Clone)]
struct Inbox {
    base: Arc<Base>,
    given: Arc<Mutex<Vec<Said>>>,
}

pub(super) struct Consumer {
    address: SocketAddr,
    inbox: Inbox,
    server: JoinHandle<()>,
}

impl Consumer {
    pub(super) async fn serve(base: Arc<Base>) -> Self {
        let inbox = Inbox {
            base,
            given: Arc::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(listen(listener, inbox.clone()));
        Self {
            address,
            inbox,
            server,
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// All that it was given, in this order, as often as it was given.
    pub(super) fn given(&self) -> Vec<Said> {
        self.inbox.given.lock().unwrap().clone()
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn listen(listener: TcpListener, inbox: Inbox) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let inbox = inbox.clone();
        connections.spawn(async move {
            // Who is killed in the middle of a request has asked for nothing.
            let _ = answer(stream, inbox).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Reads one request of HTTP/1.1 and answers it.
async fn answer(stream: TcpStream, inbox: Inbox) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    stream.read_line(&mut first).await?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        if stream.read_line(&mut header).await? == 0 {
            return Ok(());
        }
        match header.trim_end().split_once(": ") {
            Some(("content-length", bytes)) => length = bytes.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let id = first.split(' ').nth(1).unwrap().trim_start_matches('/');
    let says = Payload::parse(String::from_utf8(body).unwrap()).unwrap();
    let status = accept(inbox, MessageId::new(id).unwrap(), says.decode().unwrap()).await;
    let answer =
        format!("HTTP/1.1 {status} Said\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await
}

/// Applies a message; answers the status.
async fn accept(inbox: Inbox, id: MessageId, said: Said) -> u16 {
    inbox.given.lock().unwrap().push(said.clone());
    let late = match fastrand::u8(0..20) {
        0 => return 503,
        1 => LEASE / 2,
        _ => Duration::ZERO,
    };
    // It ends what it began, whoever goes away meanwhile.
    let applying = tokio::spawn(async move {
        sleep(late).await;
        inbox.base.apply(id, said).await;
    });
    applying.await.unwrap();
    match fastrand::u8(0..20) {
        0 => 502,
        _ => 204,
    }
}
