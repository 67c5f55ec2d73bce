//! The sections about one node: `[server]`, `[database]`, `[engine]`, `[queue.NAME]`, `[telemetry]`, `[alerts]`.

use surefoot::EngineOptions;
use surefoot_server::Token;

use super::pattern;
use super::shape::{Key, Shape, Table};
use crate::config::answers::WORDS_CHARS_MAX;
use crate::config::duration::written;
use crate::config::engine::{NODE_CONCURRENCY_MAX, QUEUE_CONCURRENCY_MAX};
use crate::config::section::LIST_MAX;
use crate::config::telemetry::LogFormat;

pub(super) fn keys() -> Vec<Key> {
    vec![
        server(),
        database(),
        engine(),
        queue(),
        telemetry(),
        alerts(),
    ]
}

fn server() -> Key {
    let keys = vec![
        Key::new(
            "listen",
            pattern::address(),
            "Where the HTTP API listens: an IP address and a port; port 0 takes a free one. An address that other machines \
             can reach is refused while there is no token.",
        )
        .or("127.0.0.1:7070"),
        tokens(
            "tokens",
            "Who may call. The name goes on record as the actor.",
        ),
        Key::new(
            "hosts",
            Shape::list(pattern::any(), 0..=LIST_MAX),
            "Further names, without a port, under which a server without tokens is addressed, such as that of a proxy on the \
             same machine. Loopback names always work.",
        ),
    ];
    section(
        "server",
        "The HTTP API: where it listens and who may use it.",
        keys,
    )
}

/// A table of tokens by name.
pub(super) fn tokens(name: &'static str, what: &str) -> Key {
    let what = format!(
        "{what} The value is the secret, at least {} bytes, or `sha256:` and its SHA-256 digest in 64 hex digits. `${{NAME}}` \
         is filled from the environment. Without any token, no credentials are asked for.",
        Token::SECRET_BYTES_MIN
    );
    Key::new(
        name,
        Shape::named(pattern::token_name(), pattern::any()),
        what,
    )
}

fn database() -> Key {
    let url = Key::new(
        "url",
        pattern::filled("^(sqlite:|postgres://|postgresql://)"),
        "Where jobs are kept: `sqlite:PATH`, a file on a local disk, or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, \
         PostgreSQL 13 or newer, encoded in UTF-8, with the parameters of libpq and `surefoot_schema`, \
         `surefoot_connections_max`, `surefoot_transaction_pooler`. `${NAME}` is filled from the environment.",
    );
    section(
        "database",
        "Where jobs are kept.",
        vec![url.or("sqlite:surefoot.db")],
    )
}

fn engine() -> Key {
    let standard = EngineOptions::default();
    let (least, most) = (EngineOptions::INTERVAL_MIN, EngineOptions::TIME_MAX);
    let keys = vec![
        Key::new(
            "concurrency",
            Shape::count(1..=NODE_CONCURRENCY_MAX),
            "How many attempts run at once on this node.",
        )
        .or(standard.concurrency),
        Key::new(
            "queues",
            Shape::list(Shape::text(pattern::name()), 1..=LIST_MAX),
            "Which queues this node serves; without it all. Pull workers choose their own.",
        ),
        Key::new(
            "poll",
            Shape::time(),
            format!(
                "How often the node looks for work that nobody announced, give or take a quarter: {} to {}.",
                written(least),
                written(most)
            ),
        )
        .or_time(standard.poll),
        Key::new(
            "drain_grace",
            Shape::time(),
            format!(
                "How long running jobs may go on after the first signal to stop, at most {}. Then they are stopped and given \
                 back.",
                written(most)
            ),
        )
        .or_time(standard.drain_grace),
        Key::new(
            "retention",
            Shape::time(),
            "How long finished jobs are kept, with their attempts. After that their keys are free again. Dead letters stay \
             until somebody decides.",
        )
        .or_time(standard.keep),
    ];
    section(
        "engine",
        "This node: how much runs at once, and the engine's own times.",
        keys,
    )
}

fn queue() -> Key {
    let concurrency = Key::new(
        "concurrency",
        Shape::count(1..=QUEUE_CONCURRENCY_MAX),
        "How many jobs of the queue run at once over all nodes and pull workers. Give every node the same.",
    );
    let table = Table::new(
        "A queue. One without a section has no limit.",
        vec![concurrency.required()],
    );
    Key::new(
        "queue",
        Shape::named(pattern::name(), Shape::Table(table)),
        "Queues by name: `[queue.NAME]`.",
    )
}

fn telemetry() -> Key {
    let keys = vec![
        Key::new(
            "otlp_endpoint",
            pattern::filled("^https?:"),
            "The base URL of an OTLP receiver over HTTP, such as `http://127.0.0.1:4318`. Traces go to `/v1/traces` below it, \
             metrics to `/v1/metrics`. Without it none are sent. `${NAME}` is filled from the environment.",
        ),
        Key::new(
            "log_format",
            Shape::Words(LogFormat::ALL.map(LogFormat::as_str).to_vec()),
            "What log lines on standard error look like.",
        )
        .or(LogFormat::default().as_str()),
    ];
    section("telemetry", "Traces, metrics and logs.", keys)
}

fn alerts() -> Key {
    let dead_letters = Key::new(
        "dead_letters",
        pattern::words(WORDS_CHARS_MAX),
        "Who is told of the dead letters of every kind that has no `alert`, in words. It answers the question and sends \
         nothing: the alert itself is a rule on the metric `surefoot_dead_letters`.",
    );
    section("alerts", "Who is told.", vec![dead_letters])
}

/// A section of the file.
pub(super) fn section(name: &'static str, what: &str, keys: Vec<Key>) -> Key {
    Key::new(name, Shape::Table(Table::new(what, keys)), what)
}
