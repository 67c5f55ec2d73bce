//! Which database and configuration a command works on, and the door to the jobs in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use surefoot::{Client, NoObserver, Policies};
use surefoot_core::id::JobId;
use surefoot_core::port::{JobRecord, Store};

use crate::args::Shared;
use crate::config::{self, Config};
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
}

impl Place {
    /// By the arguments, then the environment, then the configuration, then the default.
    ///
    /// # Errors
    /// A configuration that does not load, or a URL of no known form.
    pub(super) fn new(shared: &Shared) -> Result<Self, Failed> {
        let config_file = config_file(shared);
        let config = match &config_file {
            Some(path) => config::load(path)?,
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
        })
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
        Ok(surefoot_store::open(&self.url).await?)
    }

    async fn client(&self) -> Result<Client, Failed> {
        let policies = Arc::new(self.policies());
        Ok(Client::connect(self.store().await?, policies, Arc::new(NoObserver)).await?)
    }

    /// A client of a database that must be there: only `serve` and `migrate` make one. A name with a typing error must
    /// not become an empty database, still less one that takes a job which nothing runs.
    ///
    /// # Errors
    /// A file that is not there, or what the database answered.
    pub(super) async fn existing_client(&self) -> Result<Client, Failed> {
        let file = self
            .url
            .strip_prefix("sqlite:")
            .map(|path| path.strip_prefix("//").unwrap_or(path));
        match file {
            Some(path) if !Path::new(path).exists() => {
                let what = format!("there is no database {path}");
                Err(Failed::new(
                    Code::NotFound,
                    what,
                    "name another one with --database, or make it with: surefoot serve, or surefoot migrate",
                ))
            }
            Some(_) | None => self.client().await,
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
