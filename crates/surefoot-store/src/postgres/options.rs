//! Where the database is and how it is used. Reads a URL and nothing else: no environment, no files.

use std::str::FromStr;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use surefoot_core::error::StoreError;

/// How to reach and use a PostgreSQL database.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database`, with `sslmode`, `sslrootcert` and so on as in libpq.
    pub url: String,
    /// The schema that holds Surefoot's tables: lower-case letters, digits and `_`, 1 to 40 bytes. Default `surefoot`.
    pub schema: String,
    /// The most connections for verbs. The heartbeat and the listener have one each besides. Default 16.
    pub connections_max: u32,
    /// The longest that one verb may take, waiting for a connection included. A connection that did not answer by then
    /// is closed. Default 5 s.
    pub call_timeout: Duration,
    /// The URL leads to a pooler that gives a server to each transaction (PgBouncer with `pool_mode = transaction`). Each
    /// verb is then one explicit transaction without prepared statements. Default `false`.
    pub transaction_pooler: bool,
    /// A URL past the pooler, for announcements: `LISTEN` needs a session. Without it, a store behind a pooler has no
    /// announcements and is polled.
    pub listen_url: Option<String>,
    /// What `pg_stat_activity` shows. Default `surefoot`.
    pub application_name: String,
}

impl PostgresOptions {
    /// The most connections that [`connections_max`](Self::connections_max) allows.
    pub const CONNECTIONS_LIMIT: u32 = 500;

    /// The defaults with this URL. Three parameters of the URL are ours and set the fields of their names:
    /// `surefoot_schema`, `surefoot_connections_max` and `surefoot_transaction_pooler` (`true` or `false`).
    ///
    /// # Errors
    /// [`StoreError::Refused`] that says which parameter is wrong.
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let mut options = Self {
            url: url.to_owned(),
            schema: "surefoot".to_owned(),
            connections_max: 16,
            call_timeout: Duration::from_secs(5),
            transaction_pooler: false,
            listen_url: None,
            application_name: "surefoot".to_owned(),
        };
        if let Some((base, query)) = url.split_once('?') {
            let (ours, theirs): (Vec<_>, Vec<_>) = query
                .split('&')
                .partition(|pair| pair.starts_with("surefoot_"));
            options.url = if theirs.is_empty() {
                base.to_owned()
            } else {
                format!("{base}?{}", theirs.join("&"))
            };
            for pair in ours {
                options.set(pair)?;
            }
        }
        Ok(options)
    }

    fn set(&mut self, pair: &str) -> Result<(), StoreError> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let wrong = || wrong(format!("the URL says {pair}, which {name} does not take"));
        match name {
            "surefoot_schema" => self.schema = value.to_owned(),
            "surefoot_connections_max" => {
                self.connections_max = value.parse().map_err(|_| wrong())?
            }
            "surefoot_transaction_pooler" => {
                self.transaction_pooler = value.parse().map_err(|_| wrong())?
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }

    /// Every contradiction, each with its remedy; empty when the options are sound.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let name = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
        let starts = self
            .schema
            .as_bytes()
            .first()
            .is_some_and(|c| !c.is_ascii_digit());
        if !starts
            || self.schema.len() > 40
            || !self.schema.bytes().all(name)
            || self.schema.starts_with("pg_")
        {
            faults.push(format!(
                "schema is {:?}; give 1 to 40 lower-case letters, digits and _, no digit first, not pg_",
                self.schema
            ));
        }
        if !(1..=Self::CONNECTIONS_LIMIT).contains(&self.connections_max) {
            faults.push(format!(
                "connections_max is {}; give 1 to {}",
                self.connections_max,
                Self::CONNECTIONS_LIMIT
            ));
        }
        if !(Duration::from_millis(100)..=Duration::from_secs(300)).contains(&self.call_timeout) {
            faults.push(format!(
                "call_timeout is {:?}; give 100 ms to 300 s",
                self.call_timeout
            ));
        }
        faults
    }

    /// How the driver connects for verbs.
    pub(super) fn connect(&self) -> Result<PgConnectOptions, StoreError> {
        let options = self.driver(&self.url)?;
        if self.transaction_pooler {
            // A pooler refuses or ignores what a session would begin with; each transaction sets what it needs.
            return Ok(options.statement_cache_capacity(0).extra_float_digits(None));
        }
        Ok(options.options(self.settings()))
    }

    /// How the driver connects for announcements, if it can.
    pub(super) fn listen(&self) -> Result<Option<PgConnectOptions>, StoreError> {
        match (&self.listen_url, self.transaction_pooler) {
            (Some(url), _) => self.driver(url).map(Some),
            (None, false) => self.driver(&self.url).map(Some),
            (None, true) => Ok(None),
        }
    }

    fn driver(&self, url: &str) -> Result<PgConnectOptions, StoreError> {
        let options =
            PgConnectOptions::from_str(url).map_err(|error| StoreError::Refused(error.into()))?;
        Ok(options
            .application_name(&self.application_name)
            .disable_statement_logging())
    }

    /// What the server sees to by itself: no statement outlives its caller for long, no transaction stays open behind a
    /// caller that is gone, and a dead client is noticed within a minute.
    pub(super) fn settings(&self) -> [(&'static str, String); 6] {
        let timeout = format!("{}ms", self.call_timeout.as_millis());
        [
            ("default_transaction_isolation", "read committed".to_owned()),
            ("statement_timeout", timeout.clone()),
            ("idle_in_transaction_session_timeout", timeout),
            ("tcp_keepalives_idle", "20".to_owned()),
            ("tcp_keepalives_interval", "10".to_owned()),
            ("tcp_keepalives_count", "3".to_owned()),
        ]
    }
}

fn wrong(text: String) -> StoreError {
    StoreError::Refused(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_parameters_are_taken_out_of_the_url() {
        let options = PostgresOptions::parse(
            "postgres://u@h/d?sslmode=require&surefoot_schema=jobs&surefoot_connections_max=3&surefoot_transaction_pooler=true",
        )
        .unwrap();
        assert_eq!(options.url, "postgres://u@h/d?sslmode=require");
        assert_eq!(
            (
                options.schema.as_str(),
                options.connections_max,
                options.transaction_pooler
            ),
            ("jobs", 3, true)
        );
        assert_eq!(
            PostgresOptions::parse("postgres://h/d?surefoot_schema=x")
                .unwrap()
                .url,
            "postgres://h/d"
        );
        for wrong in [
            "surefoot_connections_max=many",
            "surefoot_transaction_pooler=1",
            "surefoot_poolsize=1",
        ] {
            assert!(
                PostgresOptions::parse(&format!("postgres://h/d?{wrong}")).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let sound = PostgresOptions::parse("postgres://h/d").unwrap();
        assert_eq!(sound.validate(), Vec::<String>::new());
        for schema in ["", "Jobs", "a b", "1a", "pg_x", "a\"b", &"x".repeat(41)] {
            let options = PostgresOptions {
                schema: schema.to_owned(),
                ..sound.clone()
            };
            assert_eq!(options.validate().len(), 1, "{schema:?}");
        }
        let wrong = PostgresOptions {
            connections_max: 0,
            call_timeout: Duration::ZERO,
            ..sound
        };
        assert_eq!(wrong.validate().len(), 2);
    }
}
