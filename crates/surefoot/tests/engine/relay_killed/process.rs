//! A relay as a process of its own: a copy of this test binary that runs one test in the other role. It ends with whoever
//! started it.

use std::io::Read;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::message::{DeliveryPolicy, Message, Proof, Topics};
use surefoot::core::port::Since;
use surefoot::{Failure, Relay, RelayOptions};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use super::base::{Base, Place, SINK};

/// Set for a copy that is a relay: the place of the database and the address of the consumer.
const ROLE: &str = "SUREFOOT_TEST_RELAY";
/// What it prints when it delivers.
const READY: &str = "the relay delivers";
/// How long what was taken stays with a relay.
pub(super) const LEASE: Duration = Duration::from_millis(800);

/// What this process is to do, when it is such a copy.
pub(super) fn role() -> Option<(Place, SocketAddr)> {
    let role = std::env::var(ROLE).ok()?;
    let (address, place) = role.split_once(' ').unwrap();
    Some((Place::parse(place), address.parse().unwrap()))
}

pub(super) struct RelayProcess(Child);

impl RelayProcess {
    /// Starts one, and waits until it delivers.
    pub(super) async fn start(test: &str, place: &Place, consumer: SocketAddr) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(ROLE, format!("{consumer} {}", place.to_text()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            if line == READY {
                return Self(child);
            }
        }
        panic!("the relay ended before it delivered");
    }

    pub(super) fn kill(mut self) {
        self.0.start_kill().unwrap();
    }

    /// Stops it for so long by a signal, as a debugger or a busy host would.
    pub(super) async fn stand_still(&mut self, long: Duration) {
        self.signal("-STOP").await;
        sleep(long).await;
        self.signal("-CONT").await;
    }

    async fn signal(&self, signal: &str) {
        let id = self.0.id().unwrap().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().await;
        assert!(sent.unwrap().success());
    }
}

/// Is that process.
pub(super) async fn serve((place, consumer): (Place, SocketAddr)) {
    // Whoever started it holds the other end.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let base = Base::open(&place).await;
    let policy = DeliveryPolicy {
        timeout: LEASE / 3,
        lease: LEASE,
        attempts_max: 10_000,
        losses_max: 10_000,
        backoff: Backoff::List {
            delays: vec![Duration::from_millis(5)],
            jitter: Jitter::Full,
        },
        ..DeliveryPolicy::default()
    };
    let sink = move |message: Message| post(consumer, message);
    let _relay = Relay::over(base.store(), base.messages())
        .sink_with(SINK, Topics::All, Since::Kept, policy, sink)
        .options(RelayOptions {
            poll: Duration::from_millis(20),
            ..RelayOptions::default()
        })
        .start()
        .await
        .unwrap();
    println!("\n{READY}");
    std::future::pending::<()>().await;
}

/// One message as one request of HTTP/1.1.
async fn post(consumer: SocketAddr, message: Message) -> Result<Proof, Failure> {
    let (id, says) = (&message.id, message.payload.as_str());
    let request = format!(
        "POST /{id} HTTP/1.1\r\nhost: {consumer}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{says}",
        says.len()
    );
    let mut stream = TcpStream::connect(consumer).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    match answer.split(' ').nth(1) {
        Some("204") => Ok(Proof::new("204")),
        Some(_) => Err(Failure::transient("it was refused")),
        None => Err(Failure::unknown("the connection was closed")),
    }
}
