//! The shop and the stand-in for what it calls as processes, and what customers do over HTTP. Times are short and keep their
//! order.

use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use reqwest::blocking::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use surefoot_testkit::Process;
use tempfile::TempDir;

/// How long a state is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// The token of each customer.
pub(crate) const ADA: &str = "the-token-of-ada-0001";
pub(crate) const BOB: &str = "the-token-of-bob-0002";

pub(crate) struct World {
    service: Option<Process>,
    outside: Process,
    client: Client,
    pub(crate) folder: TempDir,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) mark: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) text: String,
}

impl Told {
    fn read(answer: Response) -> Self {
        let header = |name: &str| {
            let value = answer.headers().get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        Self {
            status: answer.status().as_u16(),
            mark: header("idempotency-status"),
            error: header("idempotency-error"),
            location: header("location"),
            text: answer.text().unwrap(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

impl World {
    /// A provider whose charges meet these acts, and the shop.
    pub(crate) fn start(charges: &[&str]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let outside = Process::start(
            Command::new(env!("CARGO_BIN_EXE_shop-outside")).env("OUTSIDE_LISTEN", "127.0.0.1:0"),
        );
        let client = Client::builder().timeout(Duration::from_secs(20));
        let mut world = Self {
            service: None,
            outside: outside.unwrap(),
            client: client.tls_certs_only([]).build().unwrap(),
            folder: TempDir::new().unwrap(),
        };
        world.script("charges", json!(charges));
        world.service = Some(world.served());
        world
    }

    fn served(&self) -> Process {
        let outside = self.outside.said("listen");
        let service = Process::start(
            Command::new(env!("CARGO_BIN_EXE_shop"))
                .env("SHOP_DATABASE", self.database())
                .env("SHOP_EXPORTS", self.folder.path().join("exports"))
                .env("SHOP_LISTEN", "127.0.0.1:0")
                .env("SHOP_OPERATORS", "127.0.0.1:0")
                .env("SHOP_CUSTOMERS", format!("ada={ADA},bob={BOB}"))
                .env("SHOP_PROVIDER", outside)
                .env("SHOP_RECOMMENDATIONS", outside)
                .env("SHOP_CHARGE_SECONDS", "0.4"),
        );
        service.unwrap()
    }

    pub(crate) fn database(&self) -> std::path::PathBuf {
        self.folder.path().join("shop.db")
    }

    /// What the stand-in does next.
    pub(crate) fn script(&self, what: &str, acts: Value) {
        let url = format!("{}/script/{what}", self.outside.said("listen"));
        let told = self.client.post(url).json(&acts).send().unwrap();
        assert_eq!(told.status(), 204);
    }

    /// What the stand-in was asked and took.
    pub(crate) fn books(&self) -> Value {
        let url = format!("{}/books", self.outside.said("listen"));
        self.client.get(url).send().unwrap().json().unwrap()
    }

    /// What every charge took.
    pub(crate) fn taken(&self) -> Vec<u64> {
        let books = self.books();
        let taken = books["taken"].as_object().unwrap().values();
        let taken = taken.flat_map(|cents| cents.as_array().unwrap().clone());
        taken.map(|cents| cents.as_u64().unwrap()).collect()
    }

    pub(crate) fn kill(&mut self) {
        self.service.take().unwrap().kill().unwrap();
    }

    pub(crate) fn restart(&mut self) {
        self.service = Some(self.served());
    }

    pub(crate) fn terminate(&mut self) -> ExitStatus {
        self.service.take().unwrap().terminate().unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.service.as_ref().unwrap().said("listen"))
    }

    fn told(&self, request: RequestBuilder) -> Told {
        Told::read(request.send().unwrap())
    }

    pub(crate) fn post(&self, who: &str, path: &str, key: Option<&str>, body: &Value) -> Told {
        let request = self.client.post(self.url(path)).bearer_auth(who).json(body);
        self.told(match key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        })
    }

    pub(crate) fn get(&self, who: &str, path: &str, language: &str) -> Told {
        let request = self.client.get(self.url(path)).bearer_auth(who);
        self.told(request.header("accept-language", language))
    }

    pub(crate) fn pay(&self, key: &str, product: &str) -> Told {
        self.post(ADA, "/payments", Some(key), &json!({ "product": product }))
    }

    pub(crate) fn show(&self, path: &str) -> Value {
        let told = self.get(ADA, path, "en");
        assert_eq!(told.status, 200, "{told:?}");
        told.json()
    }

    /// What an operator sees or orders.
    #[track_caller]
    pub(crate) fn operators(&self, method: &str, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.service.as_ref().unwrap().said("operators"));
        let told = self.told(self.client.request(method.parse().unwrap(), url).json(body));
        assert_eq!(told.status, 200, "{told:?}");
        told.json()
    }

    /// A page, and how long it took.
    pub(crate) fn page(&self, product: &str) -> (Told, Duration) {
        let started = Instant::now();
        let told = self.told(self.client.get(self.url(&format!("/products/{product}"))));
        (told, started.elapsed())
    }

    /// Looks until it is as wanted.
    #[track_caller]
    pub(crate) fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let ends_at = Instant::now() + PATIENCE;
        loop {
            let shown = self.show(path);
            if wanted(&shown) {
                return shown;
            }
            assert!(Instant::now() < ends_at, "{path} stays {shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Looks at the books until they are as wanted.
    #[track_caller]
    pub(crate) fn until_books(&self, wanted: impl Fn(&Value) -> bool) {
        let ends_at = Instant::now() + PATIENCE;
        while !wanted(&self.books()) {
            assert!(Instant::now() < ends_at, "the books stay {}", self.books());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
