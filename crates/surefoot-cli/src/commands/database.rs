//! Which database and configuration a command works on, and the door to the jobs in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use surefoot::{Client, NoObserver, Policies};
use surefoot_core::id::JobId;
use surefoot_core::port::{JobRecord, Store};
use surefoot_store::Ports;

use crate::args::Shared;
use crate::config::{self, Config, LoadError};
use crate::exit::{Code, Failed};

/// The database without any configuration.
const DATABASE: &str = "sqlite:surefoot.db";
/// The configuration that is read when it is there and no other is named.
const CONFIG_FILE: &str = "surefoot.toml";

/// Which database and configuration a command works on.
pub(super) struct Place {
    /// The database's URL.
    pub(super) url: String,
    /// The configuration; the default one when there is none.
    pub(super) config: Config,
    /// The file it came from.
    pub(super) config_file: Option<PathBuf>,
    /// The user named the database.
    database_named: bool,
    /// The user named the file.
    config_named: bool,
}

impl Place {
    /// By the arguments, then the environment, then the configuration, then the default.
    ///
    /// # Errors
    /// A configuration that does not load, or a URL of no known form.
    pub(super) fn new(shared: &Shared) -> Result<Self, Failed> {
        Self::with(shared, config::load)
    }

    /// The same for a command that needs only the database: of the configuration it reads `[database]` and nothing
    /// else, so that looking at jobs needs no secret of those who run them.
    ///
    /// # Errors
    /// A `[database]` that does not load, or a URL of no known form.
    pub(super) fn of_database(shared: &Shared) -> Result<Self, Failed> {
        Self::with(shared, |path| {
            let database = config::load_database(path)?;
            Ok(Config {
                database,
                ..Config::default()
            })
        })
    }

    /// The same for a front door: of the configuration it reads `[database]`, `[telemetry]` and `[proxy]`.
    ///
    /// # Errors
    /// One of these sections that does not load, or a URL of no known form.
    pub(super) fn of_proxy(shared: &Shared) -> Result<Self, Failed> {
        Self::with(shared, config::load_proxy)
    }

    fn with(
        shared: &Shared,
        load: impl FnOnce(&Path) -> Result<Config, LoadError>,
    ) -> Result<Self, Failed> {
        let config_file = config_file(shared);
        let config = match &config_file {
            Some(path) => {
                load(path).map_err(|error| Failed::loading(error, path, shared.config.is_some()))?
            }
            None => Config::default(),
        };
        let url = match &shared.database {
            Some(url) => config::database_url(url.clone())
                .map_err(|text| Failed::new(Code::Usage, text, ""))?,
            None => config
                .database
                .clone()
                .unwrap_or_else(|| DATABASE.to_owned()),
        };
        Ok(Self {
            url,
            config,
            config_file,
            database_named: shared.database.is_some(),
            config_named: shared.config.is_some(),
        })
    }

    /// The options with which another command works on the same database and configuration. A URL with a password is
    /// shown without it.
    pub(super) fn options(&self) -> String {
        let mut options = String::new();
        if self.database_named {
            options.push_str(&format!(" --database '{}'", self.shown()));
        }
        if let Some(path) = self.config_file.as_ref().filter(|_| self.config_named) {
            options.push_str(&format!(" --config '{}'", path.display()));
        }
        options
    }

    /// The URL without its password, to be shown.
    pub(super) fn shown(&self) -> String {
        match self.url.split_once("://").zip(self.url.rsplit_once('@')) {
            Some(((scheme, _), (_, host))) => format!("{scheme}://…@{host}"),
            None => self.url.clone(),
        }
    }

    /// How each kind is run.
    pub(super) fn policies(&self) -> Policies {
        let mut policies = Policies::new();
        for (kind, declared) in &self.config.kinds {
            policies.insert(kind.clone(), declared.policy.clone());
        }
        policies
    }

    /// The store, made if it is not there.
    ///
    /// # Errors
    /// What the database answered.
    pub(super) async fn store(&self) -> Result<Arc<dyn Store>, Failed> {
        Ok(self.ports().await?.store)
    }

    /// The store with all its ports, made if it is not there.
    ///
    /// # Errors
    /// What the database answered.
    pub(super) async fn ports(&self) -> Result<Ports, Failed> {
        Ok(surefoot_store::open_ports(&self.url).await?)
    }

    /// A client of a database that must be there: only `serve` and `migrate` make one. A name with a typing error must
    /// not become an empty database, still less one that takes a job which nothing runs.
    ///
    /// # Errors
    /// A file that is not there, or what the database answered.
    pub(super) async fn existing_client(&self) -> Result<Client, Failed> {
        let store = self.existing_ports().await?.store;
        let policies = Arc::new(self.policies());
        Ok(Client::connect(store, policies, Arc::new(NoObserver)).await?)
    }

    /// The ports of a database that must be there, as for [`Place::existing_client`].
    ///
    /// # Errors
    /// A file that is not there, or what the database answered.
    pub(super) async fn existing_ports(&self) -> Result<Ports, Failed> {
        let file = self
            .url
            .strip_prefix("sqlite:")
            .map(|path| path.strip_prefix("//").unwrap_or(path));
        match file {
            Some(path) if !Path::new(path).exists() => {
                let absolute = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
                let what = format!("there is no database {}", absolute.display());
                Err(Failed::new(
                    Code::NotFound,
                    what,
                    "run this in the folder where surefoot serve runs, or name its database with --database; a new one \
                     is made by surefoot serve and surefoot migrate",
                ))
            }
            Some(_) | None => self.ports().await,
        }
    }
}

/// The named file, or the standard one when it is there.
pub(super) fn config_file(shared: &Shared) -> Option<PathBuf> {
    let standard = || {
        Path::new(CONFIG_FILE)
            .exists()
            .then(|| PathBuf::from(CONFIG_FILE))
    };
    shared.config.clone().or_else(standard)
}

/// The job with its records.
///
/// # Errors
/// There is none, or what the database answered.
pub(super) async fn job(client: &Client, job: JobId) -> Result<JobRecord, Failed> {
    client.job(job).await?.ok_or_else(|| no_such_job(job))
}

/// There is no such job.
pub(super) fn no_such_job(job: JobId) -> Failed {
    Failed::new(
        Code::NotFound,
        format!("there is no job {job}"),
        "see what there is with: surefoot jobs list",
    )
}

/// Where to look after a refusal.
pub(super) fn see(job: JobId) -> String {
    format!("see what became of it with: surefoot jobs show {job}")
}
