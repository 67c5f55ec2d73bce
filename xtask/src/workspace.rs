//! Reads the workspace: its root, its metadata, its tracked files. It must never judge what it reads.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::report::Fault;

/// The folder of the workspace's manifest.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// `cargo metadata` with the given extra arguments.
pub(crate) fn metadata(root: &Path, args: &[&str]) -> Result<Value, Fault> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut all = vec!["metadata", "--format-version", "1", "--locked"];
    all.extend(args);
    let out = output(root, &cargo, &all)?;
    serde_json::from_slice(&out).map_err(|error| {
        Fault::new(
            "cargo metadata",
            format!("answered no JSON: {error}"),
            "run the command by hand and look",
        )
    })
}

/// The paths that git tracks, relative to the root.
pub(crate) fn tracked_files(root: &Path) -> Result<Vec<PathBuf>, Fault> {
    let out = output(root, OsStr::new("git"), &["ls-files", "-z"])?;
    Ok(String::from_utf8_lossy(&out)
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .collect())
}

/// Every `.rs` file under `folder`, sorted.
pub(crate) fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let unreadable = |error: std::io::Error| {
        Fault::new(
            folder.display().to_string(),
            error.to_string(),
            "make it readable",
        )
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The text of a file; bytes that are no UTF-8 are replaced.
pub(crate) fn text(path: &Path) -> Result<String, Fault> {
    let bytes = std::fs::read(path).map_err(|error| {
        Fault::new(
            path.display().to_string(),
            error.to_string(),
            "restore the file",
        )
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn output(root: &Path, program: &OsStr, args: &[&str]) -> Result<Vec<u8>, Fault> {
    let place = format!("{} {}", program.display(), args.join(" "));
    let run = Command::new(program).args(args).current_dir(root).output();
    let out = run.map_err(|error| Fault::new(&place, error.to_string(), "install the program"))?;
    if out.status.success() {
        return Ok(out.stdout);
    }
    let words = String::from_utf8_lossy(&out.stderr).trim().to_owned();
    Err(Fault::new(
        place,
        format!("failed: {words}"),
        "run it by hand in the workspace and mend what it says",
    ))
}
