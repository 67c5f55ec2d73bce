//! A request with a key, and what its client is told.

use reqwest::Client;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// What a client was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) mark: String,
    pub(crate) error: String,
    pub(crate) body: String,
}

impl Told {
    pub(crate) fn is(&self, status: u16, mark: &str, error: &str) -> bool {
        (self.status, self.mark.as_str(), self.error.as_str()) == (status, mark, error)
    }

    /// It was carried out for this answer.
    pub(crate) fn ran(&self) -> bool {
        self.is(200, "executed", "") || self.is(200, "executed", "not-recorded")
    }

    pub(crate) fn was_not_run(&self) -> bool {
        self.is(503, "", "store-unavailable")
    }
}

const BODY: &str = "{\"amount\":1}";

/// Asks for one charge; `None` when the connection broke.
pub(crate) async fn ask(client: &Client, url: &str, key: &str) -> Option<Told> {
    let request = client.post(format!("{url}/charges"));
    let request = request.header("content-type", "application/json");
    let request = request.body(BODY).header("idempotency-key", key);
    let answer = request.send().await.ok()?;
    let text = |name: &str| {
        let value = answer.headers().get(name);
        value.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    };
    let (mark, error) = (text("idempotency-status"), text("idempotency-error"));
    let status = answer.status().as_u16();
    let body = answer.text().await.ok()?;
    Some(Told {
        status,
        mark,
        error,
        body,
    })
}

/// Asks for the same on a connection of its own, of which nothing is read.
pub(crate) async fn raw(url: &str, key: &str) -> TcpStream {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST /charges HTTP/1.1\r\nhost: {address}\r\nidempotency-key: {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}
