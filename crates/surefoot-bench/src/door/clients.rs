//! Clients on connections that stay open, each with one request under way at a time. They speak just enough HTTP/1.1 to ask
//! and to see that the answer is the expected one, so that they cost little beside what they measure.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Outcome;
use crate::rounds::{Latencies, per_second};

/// What is asked for, as wide as a small order.
const BODY: &str = r#"{"amount":1999,"currency":"EUR","note":"four boxes of blue paint, to the back door, ring twice"}"#;
/// The longest head of an answer.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// What every answer must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// A 201.
    Created,
    /// A 201 that ran for this answer.
    Executed,
    /// A 201 from before.
    Replayed,
}

/// When clients stop asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// After this time.
    After(Duration),
    /// After so many requests in all.
    At(u64),
}

/// What came of it.
pub(crate) struct Asked {
    pub(crate) per_second: f64,
    pub(crate) latencies: Latencies,
}

/// Asks from so many connections. `key` makes the key of each request from its number.
pub(crate) async fn ask(
    address: SocketAddr,
    connections: usize,
    ends: Ends,
    expected: Expected,
    key: impl Fn(u64) -> String + Send + Sync + 'static,
) -> Outcome<Asked> {
    let (key, numbers) = (Arc::new(key), Arc::new(AtomicU64::new(0)));
    let mut streams = Vec::new();
    for _ in 0..connections {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    let begun = Instant::now();
    let mut working = JoinSet::new();
    for mut stream in streams {
        let (key, numbers) = (Arc::clone(&key), Arc::clone(&numbers));
        working.spawn(async move {
            let (mut latencies, mut count, mut buffer) = (Latencies::default(), 0, Vec::new());
            loop {
                let number = numbers.fetch_add(1, Ordering::Relaxed);
                let over = match ends {
                    Ends::After(time) => begun.elapsed() >= time,
                    Ends::At(requests) => number >= requests,
                };
                if over {
                    break;
                }
                let key = key(number);
                let asked = Instant::now();
                one(&mut stream, &key, expected, &mut buffer).await?;
                latencies.add(asked.elapsed());
                count += 1;
            }
            Outcome::Ok((latencies, count))
        });
    }
    let (mut latencies, mut count) = (Latencies::default(), 0);
    while let Some(worked) = working.join_next().await {
        let (of_one, so_many) = worked??;
        latencies.extend(of_one);
        count += so_many;
    }
    Ok(Asked {
        per_second: per_second(count, begun.elapsed()),
        latencies,
    })
}

async fn one(
    stream: &mut TcpStream,
    key: &str,
    expected: Expected,
    buffer: &mut Vec<u8>,
) -> Outcome<()> {
    let request = format!(
        "POST /payments HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\nidempotency-key: {key}\r\n\
         content-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    stream.write_all(request.as_bytes()).await?;
    buffer.clear();
    let end = loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the service closed a connection".into());
        }
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if buffer.len() > HEAD_BYTES_MAX {
            return Err("an answer has too long a head".into());
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
    let whole = end + length(&head)?;
    while buffer.len() < whole {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the service closed a connection".into());
        }
    }
    if is_expected(&head, expected) {
        Ok(())
    } else {
        Err(format!("{expected:?} was expected, and {head} came").into())
    }
}

fn is_expected(head: &str, expected: Expected) -> bool {
    let created = head.starts_with("http/1.1 201 ");
    let marked = |word: &str| head.contains(&format!("\r\nidempotency-status: {word}\r\n"));
    created
        && match expected {
            Expected::Created => true,
            Expected::Executed => marked("executed"),
            Expected::Replayed => marked("replayed"),
        }
}

fn length(head: &str) -> Outcome<usize> {
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length = line.ok_or("an answer does not say how long it is")?;
    Ok(length.trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_expected_one_or_not() {
        let head =
            "http/1.1 201 created\r\nidempotency-status: replayed\r\ncontent-length: 7\r\n\r\n";
        assert!(is_expected(head, Expected::Created));
        assert!(is_expected(head, Expected::Replayed));
        assert!(!is_expected(head, Expected::Executed));
        assert!(!is_expected(
            "http/1.1 409 conflict\r\n\r\n",
            Expected::Created
        ));
        assert_eq!(length(head).unwrap(), 7);
        assert!(length("http/1.1 201 created\r\n\r\n").is_err());
    }
}
