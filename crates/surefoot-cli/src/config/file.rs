//! The whole file: its sections in order, and what comes out when none of them is wrong.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use surefoot_core::id::{Kind, Queue};
use toml::de::DeTable;

use super::answers;
use super::dependency::{self, Dependency};
use super::engine::{self, EngineSection};
use super::environment::{self, Environment};
use super::fault::{Faults, Unloadable};
use super::job::{self, Dependencies, JobKind};
use super::key_at::key_at;
use super::proxy::{self, ProxySection};
use super::section::Section;
use super::server::{self, ServerSection};
use super::telemetry::{self, TelemetrySection};

/// The largest file that is read: 1 MiB.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The most kinds, dependencies or queues in one file.
const ENTRIES_MAX: usize = 1000;

/// A configuration that was checked. The default one is what an empty file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Config {
    /// `[server]`.
    pub(crate) server: ServerSection,
    /// `[database] url`.
    pub(crate) database: Option<String>,
    /// `[engine]` and `[queue.NAME]`.
    pub(crate) engine: EngineSection,
    /// `[telemetry]`.
    pub(crate) telemetry: TelemetrySection,
    /// `[proxy]`.
    pub(crate) proxy: Option<ProxySection>,
    /// `[dependency.NAME]`, by name.
    pub(crate) dependencies: Vec<Arc<Dependency>>,
    /// `[job.KIND]`.
    pub(crate) kinds: BTreeMap<Kind, JobKind>,
    /// `[alerts] dead_letters`: who is told of the dead letters of every kind that names nobody.
    pub(crate) alert: Option<String>,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The file cannot be read.
    #[error("failed to read {path}: {source}")]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is larger than any configuration.
    #[error("failed to read {path}: it has more than {FILE_BYTES_MAX} bytes")]
    TooLarge {
        /// Which file.
        path: PathBuf,
    },
    /// A folder, a pipe or a device, which could keep the reader waiting.
    #[error("failed to read {path}: it is no regular file")]
    NoFile {
        /// What was named.
        path: PathBuf,
    },
    /// The file can be read and does not load.
    #[error(transparent)]
    Unloadable(Box<Unloadable>),
}

/// Reads the file at `path`, with `${NAME}` from the environment of this process.
///
/// # Errors
/// A [`LoadError`]; when the file does not load it holds every fault.
pub(crate) fn load(path: &Path) -> Result<Config, LoadError> {
    let text = text(path)?;
    parse(&path.display().to_string(), &text, &of_this_process)
        .map_err(|unloadable| LoadError::Unloadable(Box::new(unloadable)))
}

/// Reads only `[database] url` of the file at `path`, for those who need nothing else of it: what else stands there may
/// be wrong, or need variables that are not set.
///
/// # Errors
/// As [`load`], with the faults of the TOML or of that section.
pub(crate) fn load_database(path: &Path) -> Result<Option<String>, LoadError> {
    let text = text(path)?;
    parse_with(&path.display().to_string(), &text, |file| {
        match file.section("database") {
            Some(section) => database(&section, &of_this_process),
            None => Some(None),
        }
    })
    .map_err(|unloadable| LoadError::Unloadable(Box::new(unloadable)))
}

/// Reads of the file at `path` what a front door needs, `[database]`, `[telemetry]` and `[proxy]`: it needs no secret of
/// those who run jobs.
///
/// # Errors
/// As [`load`], with the faults of the TOML or of those sections.
pub(crate) fn load_proxy(path: &Path) -> Result<Config, LoadError> {
    let text = text(path)?;
    parse_with(&path.display().to_string(), &text, |file| {
        read_proxy(file, &of_this_process)
    })
    .map_err(|unloadable| LoadError::Unloadable(Box::new(unloadable)))
}

fn of_this_process(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn text(path: &Path) -> Result<String, LoadError> {
    let unreadable = |source| LoadError::Unreadable {
        path: path.to_owned(),
        source,
    };
    // Before it is opened: opening a pipe waits for its writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(LoadError::NoFile {
            path: path.to_owned(),
        });
    }
    let mut bytes = Vec::new();
    // A file may grow, and some tell no size: what is read is bounded, not what is promised.
    std::fs::File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(LoadError::TooLarge {
            path: path.to_owned(),
        });
    }
    String::from_utf8(bytes)
        .map_err(|refusal| unreadable(io::Error::new(io::ErrorKind::InvalidData, refusal)))
}

/// Reads a text that stands in the file `name`.
///
/// # Errors
/// Every fault of the text. Faults of meaning are looked for when the syntax is right.
pub(super) fn parse(
    name: &str,
    text: &str,
    environment: Environment<'_>,
) -> Result<Config, Unloadable> {
    parse_with(name, text, |file| read(file, environment))
}

fn parse_with<T>(
    name: &str,
    text: &str,
    read: impl FnOnce(&Section<'_>) -> Option<T>,
) -> Result<T, Unloadable> {
    let faults = Faults::default();
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        note_syntax(&faults, text, error);
    }
    let config = if errors.is_empty() {
        read(&Section::file(table.get_ref(), &faults))
    } else {
        None
    };
    let faults = faults.into_sorted(|span| key_at(table.get_ref(), span));
    match (config, faults) {
        (Some(config), none) if none.is_empty() => Ok(config),
        (_, found) => Err(Unloadable::new(name, text, found)),
    }
}

/// A fault of the syntax. A key that stands there twice is named; another text is not repeated, it may hold a secret.
fn note_syntax(faults: &Faults, text: &str, error: &toml::de::Error) {
    let span = error.span().unwrap_or(0..0);
    match (error.message(), text.get(span.clone())) {
        ("duplicate key", Some(key)) => {
            let what = format!("{} stands here for the second time", key.trim());
            faults.note(span, what, "keep one of them, and put all keys into it");
        }
        (message, _) => faults.note(span, message, "correct the TOML here; see https://toml.io"),
    }
}

fn read_proxy(file: &Section<'_>, environment: Environment<'_>) -> Option<Config> {
    let database = match file.section("database") {
        Some(section) => database(&section, environment),
        None => Some(None),
    };
    let telemetry = match file.section("telemetry") {
        Some(section) => telemetry::read(&section, environment),
        None => Some(TelemetrySection::default()),
    };
    let proxy = proxy_of(file, environment);
    Some(Config {
        database: database?,
        telemetry: telemetry?,
        proxy: proxy?,
        ..Config::default()
    })
}

/// `[proxy]`, if it is there; the outer `None` when it is wrong.
fn proxy_of(file: &Section<'_>, environment: Environment<'_>) -> Option<Option<ProxySection>> {
    match file.section("proxy") {
        Some(section) => proxy::read(&section, environment).map(Some),
        None => Some(None),
    }
}

fn read(file: &Section<'_>, environment: Environment<'_>) -> Option<Config> {
    let server = match file.section("server") {
        Some(section) => server::read(&section, environment),
        None => Some(ServerSection::default()),
    };
    let database = match file.section("database") {
        Some(section) => database(&section, environment),
        None => Some(None),
    };
    let engine = match file.section("engine") {
        Some(section) => engine::read(&section),
        None => Some(EngineSection::default()),
    };
    let telemetry = match file.section("telemetry") {
        Some(section) => telemetry::read(&section, environment),
        None => Some(TelemetrySection::default()),
    };
    let alert = match file.section("alerts") {
        Some(section) => answers::of_all(&section),
        None => Some(None),
    };
    let proxy = proxy_of(file, environment);
    let dependencies = dependencies(file, environment);
    let kinds = kinds(file, &dependencies, environment);
    let queue_limits = queue_limits(file);
    file.finish();
    let engine = EngineSection {
        queue_limits,
        ..engine?
    };
    Some(Config {
        server: server?,
        database: database?,
        engine,
        telemetry: telemetry?,
        proxy: proxy?,
        dependencies: dependencies.into_values().flatten().collect(),
        kinds,
        alert: alert?,
    })
}

fn database(section: &Section<'_>, environment: Environment<'_>) -> Option<Option<String>> {
    let url = section.text("url").check(section.faults, |text| {
        let url = environment::fill(text, environment).map_err(|refusal| refusal.to_string())?;
        database_url(url)
    });
    section.finish();
    url.optional()
}

/// A database URL of one of the known forms; where it leads is seen when it is opened.
pub(crate) fn database_url(url: String) -> Result<String, String> {
    let known = ["sqlite:", "postgres://", "postgresql://"];
    if known.iter().any(|scheme| url.starts_with(scheme)) {
        Ok(url)
    } else {
        // The text is not repeated: it may hold a password.
        Err("the database URL is of no known form; write sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME".to_owned())
    }
}

fn dependencies(file: &Section<'_>, environment: Environment<'_>) -> Dependencies {
    bounded(file, "dependency")
        .into_iter()
        .map(|(name, section)| {
            (
                name.to_owned(),
                dependency::read(name, &section, environment).map(Arc::new),
            )
        })
        .collect()
}

fn kinds(
    file: &Section<'_>,
    dependencies: &Dependencies,
    environment: Environment<'_>,
) -> BTreeMap<Kind, JobKind> {
    let mut kinds = BTreeMap::new();
    for (name, section) in bounded(file, "job") {
        let read = job::read(&section, dependencies, environment);
        match (Kind::new(name), read) {
            (Ok(kind), Some(job)) => {
                kinds.insert(kind, job);
            }
            (Ok(_), None) => {}
            (Err(refusal), _) => section
                .faults
                .note_text(section.header.clone(), &refusal.to_string()),
        }
    }
    kinds
}

fn queue_limits(file: &Section<'_>) -> BTreeMap<Queue, u32> {
    let mut limits = BTreeMap::new();
    for (name, section) in bounded(file, "queue") {
        let limit = engine::read_queue(&section);
        match (Queue::new(name), limit) {
            (Ok(queue), Some(limit)) => {
                limits.insert(queue, limit);
            }
            (Ok(_), None) => {}
            (Err(refusal), _) => section
                .faults
                .note_text(section.header.clone(), &refusal.to_string()),
        }
    }
    limits
}

fn bounded<'t>(file: &Section<'t>, key: &'static str) -> Vec<(&'t str, Section<'t>)> {
    let sections = file.sections(key);
    if let Some((_, beyond)) = sections.get(ENTRIES_MAX) {
        let what = format!("there are more than {ENTRIES_MAX} [{key}.NAME] sections");
        file.faults.note(
            beyond.header.clone(),
            what,
            "split them over several engines",
        );
    }
    sections
}
