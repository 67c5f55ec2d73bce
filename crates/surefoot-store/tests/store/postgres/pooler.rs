//! Behind a pooler that gives a server to each transaction, as PgBouncer does: no verb may rely on what a session keeps.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use surefoot_core::port::Store;
use surefoot_store::postgres::{PostgresOptions, PostgresStore};
use surefoot_testkit::contract;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::server::Server;

/// How many servers the clients share.
const SERVERS: usize = 3;

/// Half of a connection, read message by message. Cancelled at any point, it has lost nothing.
struct Messages {
    from: OwnedReadHalf,
    bytes: Vec<u8>,
}

impl Messages {
    fn of(from: OwnedReadHalf) -> Self {
        Self {
            from,
            bytes: Vec::new(),
        }
    }

    /// The next message; one without a type byte at the beginning of a connection. `None` at its end.
    async fn next(&mut self, typed: bool) -> Option<Vec<u8>> {
        let head = usize::from(typed);
        loop {
            if let Some(length) = self.bytes.get(head..head + 4) {
                let end = head + u32::from_be_bytes(length.try_into().unwrap()) as usize;
                if self.bytes.len() >= end {
                    return Some(self.bytes.drain(..end).collect());
                }
            }
            let mut more = vec![0; 64 * 1024];
            let count = self
                .from
                .read(&mut more)
                .await
                .ok()
                .filter(|count| *count > 0)?;
            self.bytes.extend_from_slice(&more[..count]);
        }
    }
}

struct Backend {
    messages: Messages,
    to: OwnedWriteHalf,
}

impl Backend {
    async fn connect(port: u16) -> Self {
        let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        server.set_nodelay(true).unwrap();
        let (from, mut to) = server.into_split();
        let mut startup = vec![0, 3, 0, 0];
        startup.extend_from_slice(b"user\0surefoot\0database\0postgres\0client_encoding\0UTF8\0\0");
        let length = u32::try_from(startup.len() + 4).unwrap().to_be_bytes();
        to.write_all(&[&length[..], &startup].concat())
            .await
            .unwrap();
        let mut backend = Self {
            messages: Messages::of(from),
            to,
        };
        while backend.messages.next(true).await.unwrap()[0] != b'Z' {}
        backend
    }
}

/// The servers at rest. The one that rested the longest is next, so that a client seldom meets the same one twice.
struct Pool {
    resting: Mutex<VecDeque<Backend>>,
    slots: Semaphore,
}

async fn start(server: &Server) -> u16 {
    let pool = Pool {
        resting: Mutex::default(),
        slots: Semaphore::new(SERVERS),
    };
    for _ in 0..SERVERS {
        let backend = Backend::connect(server.port).await;
        pool.resting.lock().unwrap().push_back(backend);
    }
    let pool = Arc::new(pool);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve(client, pool.clone()));
        }
    });
    port
}

async fn serve(client: TcpStream, pool: Arc<Pool>) -> Option<()> {
    client.set_nodelay(true).ok()?;
    let (from, mut to) = client.into_split();
    let mut client = Messages::of(from);
    let first = client.next(false).await?;
    if first[4..8] == 80_877_103_u32.to_be_bytes() {
        to.write_all(b"N").await.ok()?;
        client.next(false).await?;
    }
    let mut hello = b"R\0\0\0\x08\0\0\0\0".to_vec();
    hello.extend_from_slice(b"S\0\0\0\x18server_version\x0015.0\0");
    hello.extend_from_slice(b"K\0\0\0\x0c\0\0\0\x01\0\0\0\x01Z\0\0\0\x05I");
    to.write_all(&hello).await.ok()?;
    loop {
        let message = client.next(true).await?;
        if message[0] == b'X' {
            return Some(());
        }
        let _slot = pool.slots.acquire().await.ok()?;
        let mut backend = pool.resting.lock().unwrap().pop_front()?;
        transaction(&mut client, &mut to, &mut backend, message).await?;
        pool.resting.lock().unwrap().push_back(backend);
    }
}

/// Carries messages until the server says that no transaction is open and nothing is under way.
async fn transaction(
    client: &mut Messages,
    to: &mut OwnedWriteHalf,
    backend: &mut Backend,
    first: Vec<u8>,
) -> Option<()> {
    let mut awaited = usize::from(matches!(first[0], b'Q' | b'S'));
    backend.to.write_all(&first).await.ok()?;
    loop {
        tokio::select! {
            message = client.next(true) => {
                let message = message?;
                awaited += usize::from(matches!(message[0], b'Q' | b'S'));
                backend.to.write_all(&message).await.ok()?;
            }
            message = backend.messages.next(true) => {
                let message = message?;
                to.write_all(&message).await.ok()?;
                if message[0] == b'Z' {
                    awaited -= 1;
                    if awaited == 0 && message[5] == b'I' {
                        return Some(());
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn symptom_107_the_contract_holds_behind_a_transaction_pooler() {
    let server = Server::start_new();
    let port = start(&server).await;
    let fresh = |case: &'static str| {
        let options = PostgresOptions {
            schema: case.to_owned(),
            transaction_pooler: true,
            call_timeout: std::time::Duration::from_secs(30),
            ..server.options(port)
        };
        async move { Arc::new(PostgresStore::open_with(options).await.unwrap()) as Arc<dyn Store> }
    };
    contract::enqueue::a_job_reads_back_as_it_came(fresh("reads_back").await).await;
    contract::enqueue::payloads_are_kept_byte_for_byte(fresh("payloads").await).await;
    contract::enqueue::concurrent_enqueues_of_one_key_give_one_job(fresh("keys").await).await;
    contract::order::one_at_a_time_first_in_first_out(fresh("ordered").await).await;
    contract::limits::concurrent_claimers_keep_a_key_limit(fresh("limits").await).await;
    contract::extend::a_heart_beats_as_extend_does(fresh("heart").await).await;
    contract::contend::all_verbs_at_once(fresh("contend").await).await;
    contract::dead::letters_are_grouped_by_kind_reason_and_fault(fresh("dead").await).await;
    contract::maintain::only_what_is_finished_is_dropped(fresh("maintain").await).await;
    let store = fresh("announce").await;
    assert!(
        store.announcements().await.unwrap().is_none(),
        "a pooler carries no announcements, and it is said"
    );
    store.announce(&["a".parse().unwrap()]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_behind_a_pooler_listens_past_it() {
    let server = Server::start_new();
    let port = start(&server).await;
    let options = PostgresOptions {
        transaction_pooler: true,
        listen_url: Some(server.options(server.port).url),
        ..server.options(port)
    };
    let store = PostgresStore::open_with(options).await.unwrap();
    let mut heard = store.announcements().await.unwrap().unwrap();
    store.announce(&["a".parse().unwrap()]).await.unwrap();
    assert_eq!(heard.next().await.unwrap().as_str(), "a");
}
