//! A server of the test's own, to be stopped and started under load, and a wire to it that can go silent.

use std::net::{Ipv4Addr, SocketAddr, TcpListener as Probe};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use surefoot_store::postgres::PostgresOptions;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A private cluster on a free port of the loopback interface.
pub(crate) struct Server {
    folder: TempDir,
    binaries: PathBuf,
    user: Option<(u32, u32)>,
    pub(crate) port: u16,
}

impl Server {
    /// Makes a cluster and starts it.
    pub(crate) fn start_new() -> Self {
        let binaries = std::env::var_os("SUREFOOT_TEST_PG_BIN").filter(|value| !value.is_empty());
        let Some(binaries) = binaries else {
            panic!(
                "SUREFOOT_TEST_PG_BIN names no PostgreSQL programs; run ./test, or scripts/with-postgres cargo test"
            )
        };
        let name = std::env::var("SUREFOOT_TEST_PG_USER").unwrap_or_default();
        let user = (!name.is_empty()).then(|| (id("-u", &name), id("-g", &name)));
        let folder = tempfile::Builder::new()
            .prefix("surefoot-server.")
            .tempdir_in("/tmp")
            .unwrap();
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(folder.path(), Some(uid), Some(gid)).unwrap();
        }
        let port = Probe::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let server = Self {
            folder,
            binaries: PathBuf::from(binaries),
            user,
            port,
        };
        let options = [
            "--username=surefoot",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ];
        server.run(
            "initdb",
            &[&options[..], &["--pgdata", server.data().to_str().unwrap()]].concat(),
        );
        server.start();
        server
    }

    pub(crate) fn start(&self) {
        let options = format!(
            "-c listen_addresses=127.0.0.1 -c port={} -c fsync=off -c max_connections=120 -c unix_socket_directories=''",
            self.port
        );
        let log = self.folder.path().join("log");
        let paths = [self.data(), log];
        let [data, log] = paths.each_ref().map(|path| path.to_str().unwrap());
        self.run(
            "pg_ctl",
            &[
                "start",
                "--wait",
                "--silent",
                "--pgdata",
                data,
                "--log",
                log,
                "--options",
                &options,
            ],
        );
    }

    /// Stops it at once: every session ends without a word, as in a crash.
    pub(crate) fn crash(&self) {
        self.run(
            "pg_ctl",
            &[
                "stop",
                "--silent",
                "--mode=immediate",
                "--pgdata",
                self.data().to_str().unwrap(),
            ],
        );
    }

    /// A store on this server, through `port`.
    pub(crate) fn options(&self, port: u16) -> PostgresOptions {
        PostgresOptions {
            call_timeout: Duration::from_secs(2),
            ..PostgresOptions::parse(&format!("postgres://surefoot@127.0.0.1:{port}/postgres"))
                .unwrap()
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(self.binaries.join(program));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        let status = command.status().unwrap();
        assert!(
            status.success() || std::thread::panicking(),
            "{program} {arguments:?}: {status}"
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.data().join("postmaster.pid").exists() {
            self.crash();
        }
    }
}

fn id(what: &str, user: &str) -> u32 {
    let output = Command::new("id").args([what, user]).output().unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// A wire to a server that can go silent: connections stay open and nothing more comes through, either way.
pub(crate) struct Wire {
    pub(crate) port: u16,
    silent: Arc<AtomicBool>,
}

impl Wire {
    pub(crate) async fn to(server: &Server) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
        let silent = Arc::new(AtomicBool::new(false));
        tokio::spawn({
            let silent = silent.clone();
            async move {
                while let Ok((near, _)) = listener.accept().await {
                    // A connection belongs to the time in which it was made: the old ones never come back.
                    let dead = Arc::new(AtomicBool::new(silent.load(Ordering::SeqCst)));
                    let Ok(far) = TcpStream::connect(target).await else {
                        continue;
                    };
                    near.set_nodelay(true).unwrap();
                    far.set_nodelay(true).unwrap();
                    let (near_read, near_write) = near.into_split();
                    let (far_read, far_write) = far.into_split();
                    tokio::spawn(carry(near_read, far_write, silent.clone(), dead.clone()));
                    tokio::spawn(carry(far_read, near_write, silent.clone(), dead));
                }
            }
        });
        Self { port, silent }
    }

    pub(crate) fn go_silent(&self) {
        self.silent.store(true, Ordering::SeqCst);
    }

    /// New connections get through again.
    pub(crate) fn come_back(&self) {
        self.silent.store(false, Ordering::SeqCst);
    }
}

async fn carry(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    silent: Arc<AtomicBool>,
    dead: Arc<AtomicBool>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut buffer).await {
        if silent.load(Ordering::SeqCst) {
            dead.store(true, Ordering::SeqCst);
        }
        if dead.load(Ordering::SeqCst) {
            // Swallowed without a sign, and the connection is kept open.
            continue;
        }
        if to.write_all(&buffer[..bytes]).await.is_err() {
            return;
        }
    }
}
