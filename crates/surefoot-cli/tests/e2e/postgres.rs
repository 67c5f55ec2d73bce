//! A database of its own for a test that needs PostgreSQL.

use std::process::Command;

/// The URL of a new, empty database on the server that the tests were given.
pub(crate) fn database() -> String {
    let Ok(server) = std::env::var("SUREFOOT_TEST_POSTGRES") else {
        panic!(
            "this test needs PostgreSQL and SUREFOOT_TEST_POSTGRES is not set; run it by ./test"
        );
    };
    let name = format!("surefoot_e2e_{:016x}", fastrand::u64(..));
    let (base, _) = server.rsplit_once('/').expect("a URL with a database");
    let status = Command::new(createdb())
        .args([
            "--template",
            "template0",
            "--maintenance-db",
            &server,
            &name,
        ])
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "createdb failed"
    );
    format!("{base}/{name}")
}

/// `createdb` beside the server's programs, or on the path.
fn createdb() -> std::path::PathBuf {
    let beside = std::env::var_os("SUREFOOT_TEST_PG_BIN")
        .map(|folder| std::path::Path::new(&folder).join("createdb"));
    beside
        .filter(|path| path.exists())
        .unwrap_or_else(|| "createdb".into())
}
