//! Keys of intents that have no name of their own, kept in a folder until their intents are done: the same key over every
//! retry and every restart. A key is on the disk before anybody can send it, and it is never made twice for one intent.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::intent::IntentKey;

/// The most intents that are open in one book.
pub const OPEN_INTENTS_MAX: usize = 10_000;

/// The most bytes of a name.
pub const INTENT_NAME_BYTES_MAX: usize = 1024;

/// How a kept key begins its name; what begins otherwise is being written, or somebody else's.
const KEPT: &str = "intent-";

/// A folder of keys.
///
/// An intent that has an id needs none of this: [`IntentKey::of`] makes its key from that. One that has none, such as "the
/// payment that this terminal is making", has a *name* here, under which it is found after a restart, and a key that nobody
/// else has. [`done`](Self::done) forgets it, and the next intent of that name gets another key.
///
/// Each key is a small file that is flushed to the disk, and its folder too, before it is returned. Several processes may
/// use one folder of a local disk. All calls block: make them outside of a runtime's tasks.
///
/// ```no_run
/// # fn send(_: &surefoot_http::IntentKey) -> bool { true }
/// # fn example() -> Result<(), surefoot_http::IntentBookError> {
/// let book = surefoot_http::IntentBook::open("/var/lib/till/intents")?;
/// // After a crash too: what was begun goes on under its key.
/// let key = book.key("payment at till 4")?;
/// while !send(&key) {} // until the answer is final
/// book.done("payment at till 4")?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct IntentBook {
    folder: PathBuf,
}

/// A key that could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum IntentBookError {
    /// The name does not fit.
    #[error("the name has {0} bytes; give 1 to {INTENT_NAME_BYTES_MAX}, without line breaks")]
    Name(usize),
    /// Too many intents are open.
    #[error("{OPEN_INTENTS_MAX} intents are open in {}; say of those that are over that they are done", .0.display())]
    Full(PathBuf),
    /// A file holds something else than a key.
    #[error("{} does not hold a key; restore it: a new key could make its intent happen twice", .0.display())]
    Broken(PathBuf),
    /// The disk.
    #[error("{}: {cause}", path.display())]
    Disk {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl IntentBook {
    /// The book in this folder, which is made where there is none.
    ///
    /// # Errors
    /// [`IntentBookError::Disk`].
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, IntentBookError> {
        let folder = folder.into();
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        if let Some(parent) = folder
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            flush(parent)?;
        }
        flush(&folder)?;
        Ok(Self { folder })
    }

    /// The key of the open intent of this name; where there is none it begins, with a new key.
    ///
    /// # Errors
    /// A name that does not fit, a full book, a broken file, or the disk. Nothing was sent yet: do not send without a key.
    pub fn key(&self, name: &str) -> Result<IntentKey, IntentBookError> {
        let kept = self.place(name)?;
        if let Some((_, key)) = read(&kept)? {
            // Who made it may not have come so far as to flush the folder: another process, or this one before it died.
            flush(&self.folder)?;
            return Ok(key);
        }
        if self.files()?.len() >= OPEN_INTENTS_MAX {
            return Err(IntentBookError::Full(self.folder.clone()));
        }
        let made = self.write(name, &random_key())?;
        // Whoever links first decides; another process may have begun the same intent.
        let linked = fs::hard_link(&made, &kept);
        let removed = fs::remove_file(&made);
        match linked {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(IntentBookError::Disk { path: kept, cause }),
        }
        removed.map_err(at(&made))?;
        flush(&self.folder)?;
        // Another process may have said between two looks that it is done; then nothing was sent under the key that was made.
        read(&kept)?.map_or_else(|| self.key(name), |(_, key)| Ok(key))
    }

    /// The intent of this name is over: its answer was final. One that is not open is no fault.
    ///
    /// # Errors
    /// A name that does not fit, or the disk; then it is still open, and asking again under its key does no harm.
    pub fn done(&self, name: &str) -> Result<(), IntentBookError> {
        let kept = self.place(name)?;
        match fs::remove_file(&kept) {
            Ok(()) => flush(&self.folder),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(cause) => Err(IntentBookError::Disk { path: kept, cause }),
        }
    }

    /// The names and keys of all open intents, to go on with after a restart; in no order.
    ///
    /// # Errors
    /// A broken file, or the disk.
    pub fn open_intents(&self) -> Result<Vec<(String, IntentKey)>, IntentBookError> {
        let mut open = Vec::new();
        for path in self.files()? {
            open.extend(read(&path)?);
        }
        flush(&self.folder)?;
        Ok(open)
    }

    /// The files of open intents.
    fn files(&self) -> Result<Vec<PathBuf>, IntentBookError> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(at(&self.folder))? {
            let entry = entry.map_err(at(&self.folder))?;
            if entry.file_name().to_string_lossy().starts_with(KEPT) {
                files.push(entry.path());
            }
        }
        Ok(files)
    }

    fn place(&self, name: &str) -> Result<PathBuf, IntentBookError> {
        let fits =
            (1..=INTENT_NAME_BYTES_MAX).contains(&name.len()) && !name.contains(['\n', '\r']);
        if !fits {
            return Err(IntentBookError::Name(name.len()));
        }
        let file = IntentKey::of(KEPT, name);
        Ok(self.folder.join(format!("{KEPT}{file}")))
    }

    /// A flushed file with a name of its own.
    fn write(&self, name: &str, key: &str) -> Result<PathBuf, IntentBookError> {
        let path = self
            .folder
            .join(format!("new-{}-{key}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let written = options.open(&path).and_then(|mut file| {
            file.write_all(format!("{key}\n{name}\n").as_bytes())?;
            file.sync_all()
        });
        written.map_err(at(&path))?;
        Ok(path)
    }
}

/// What a file holds; `None` when it is not there.
fn read(path: &Path) -> Result<Option<(String, IntentKey)>, IntentBookError> {
    let mut text = String::new();
    let most = (INTENT_NAME_BYTES_MAX + 100) as u64;
    match File::open(path).and_then(|file| file.take(most).read_to_string(&mut text)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => {
            return Err(IntentBookError::Disk {
                path: path.to_owned(),
                cause,
            });
        }
    }
    let broken = || IntentBookError::Broken(path.to_owned());
    let (key, name) = text.split_once('\n').ok_or_else(broken)?;
    let name = name.strip_suffix('\n').ok_or_else(broken)?;
    let key = IntentKey::kept(key).ok_or_else(broken)?;
    Ok(Some((name.to_owned(), key)))
}

/// A folder knows of its files only once it was flushed itself.
fn flush(folder: &Path) -> Result<(), IntentBookError> {
    let flushed = File::open(folder).and_then(|folder| folder.sync_all());
    flushed.map_err(at(folder))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> IntentBookError {
    move |cause| IntentBookError::Disk {
        path: path.to_owned(),
        cause,
    }
}

/// 20 bytes in hex that nobody can guess: the standard library draws the seeds of its hash maps from the system.
fn random_key() -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let mut digest = Sha256::new();
    for _ in 0..4 {
        digest.update(RandomState::new().build_hasher().finish().to_be_bytes());
    }
    digest.update(MADE.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    digest.update(std::process::id().to_be_bytes());
    let digest = digest.finalize();
    digest
        .iter()
        .take(20)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_key_stays_over_restarts_until_its_intent_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a/b");
        let key = IntentBook::open(&place).unwrap().key("till 4").unwrap();
        let again = IntentBook::open(&place).unwrap();
        assert_eq!(again.key("till 4").unwrap(), key);
        assert_ne!(again.key("till 5").unwrap(), key);
        let open: BTreeSet<_> = again
            .open_intents()
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(open, ["till 4".to_owned(), "till 5".to_owned()].into());
        again.done("till 4").unwrap();
        again.done("till 4").unwrap();
        let next = again.key("till 4").unwrap();
        assert_ne!(next, key, "another intent");
        assert_eq!(next.as_str().len(), 40);
    }

    #[test]
    fn of_many_that_begin_one_intent_at_once_all_have_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let book = IntentBook::open(folder.path()).unwrap();
        let keys: Vec<_> = std::thread::scope(|scope| {
            let begin = || book.key("one").unwrap();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(begin)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let one: BTreeSet<_> = keys.iter().map(IntentKey::as_str).collect();
        assert_eq!(one.len(), 1);
        let files = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files, 1, "nothing else is left behind");
    }

    #[test]
    fn what_a_crash_left_half_written_is_no_key() {
        let folder = tempfile::tempdir().unwrap();
        let book = IntentBook::open(folder.path()).unwrap();
        fs::write(folder.path().join("new-1-abc"), "ab").unwrap();
        let key = book.key("one").unwrap();
        assert_eq!(book.open_intents().unwrap(), [("one".to_owned(), key)]);
    }

    #[test]
    fn a_broken_file_is_told_and_never_replaced_by_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let book = IntentBook::open(folder.path()).unwrap();
        book.key("one").unwrap();
        let file = book.files().unwrap().remove(0);
        for broken in ["", "short\none\n", "no line"] {
            fs::write(&file, broken).unwrap();
            let told = book.key("one");
            assert!(matches!(told, Err(IntentBookError::Broken(_))), "{told:?}");
        }
    }

    #[test]
    fn names_and_numbers_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let book = IntentBook::open(folder.path()).unwrap();
        for name in ["", "a\nb", &"x".repeat(INTENT_NAME_BYTES_MAX + 1)] {
            assert!(
                matches!(book.key(name), Err(IntentBookError::Name(_))),
                "{name}"
            );
        }
        assert!(book.key(&"x".repeat(INTENT_NAME_BYTES_MAX)).is_ok());
        for number in 1..OPEN_INTENTS_MAX {
            fs::write(folder.path().join(format!("{KEPT}{number}")), "").unwrap();
        }
        assert!(matches!(
            book.key("one more"),
            Err(IntentBookError::Full(_))
        ));
    }
}
