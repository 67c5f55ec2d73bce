//! `kill -9` of a proxy at each place between a claim and its answer, on both databases. After a restart nothing has taken
//! effect twice, and what became of the request is replayed, or is told as unknown until the service can be asked.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use surefoot_testkit::{Act, ScriptedProvider};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

use crate::api::until;
use crate::asking::{Told, ask, raw};
use crate::postgres;
use crate::process::{Folder, Node};
use crate::proxy::{client, proxy, proxy_before};

/// Where the proxy dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The key is claimed, and the service cannot be connected to yet.
    BeforeCall,
    /// The service has the request, and never does anything about it.
    BeforeEffect,
    /// The service has the request, and its effect comes when the proxy is dead.
    EffectAfterDeath,
    /// The effect has taken place, and the service has not answered.
    BeforeServiceAnswers,
    /// The service has answered, and the database does not take the answer.
    BeforeStored,
    /// The answer is on record, and the client has not read it.
    BeforeClientReads,
}

/// Nobody can connect: its queue is full, and it accepts none.
struct Deaf {
    listener: TcpListener,
    /// They fill the queue.
    _waiting: Vec<TcpStream>,
}

impl Deaf {
    async fn listen() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        let patience = Duration::from_millis(300);
        while let Ok(stream) = tokio::time::timeout(patience, TcpStream::connect(address)).await {
            waiting.push(stream.unwrap());
        }
        Self {
            listener,
            _waiting: waiting,
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.listener.local_addr().unwrap())
    }
}

/// Somebody else who holds what the proxy has to write; lets go when this is dropped.
struct Holder(Child);

impl Holder {
    fn of(database: Option<&str>, folder: &Path) -> Self {
        let mut command = match database {
            Some(url) => {
                let beside = std::env::var_os("SUREFOOT_TEST_PG_BIN").map(PathBuf::from);
                let psql = beside.map_or_else(|| "psql".into(), |folder| folder.join("psql"));
                let mut command = Command::new(psql);
                command.args(["--no-psqlrc", "--quiet", "--tuples-only", url]);
                command
            }
            None => {
                let mut command = Command::new("python3");
                let script = "import sqlite3, sys\n\
                              held = sqlite3.connect('surefoot.db', isolation_level=None)\n\
                              for line in sys.stdin: held.execute(line); print('held', flush=True)";
                command.args(["-c", script]).current_dir(folder);
                command
            }
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let hold = match database {
            Some(_) => "begin; select 'held' from surefoot.request for update;\n",
            None => "begin immediate\n",
        };
        let stdin = child.stdin.as_mut().unwrap();
        stdin.write_all(hold.as_bytes()).unwrap();
        stdin.flush().unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap());
        lines.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "held");
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Both fail only for a process that has ended, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One proxy that dies, and what is needed to start it again.
struct Scene {
    provider: ScriptedProvider,
    folder: Folder,
    database: Option<String>,
}

impl Scene {
    async fn new(database: Option<String>) -> Self {
        let provider = ScriptedProvider::start().await.unwrap();
        provider.deduplicates(false);
        Self {
            provider,
            folder: Folder::new(),
            database,
        }
    }

    fn arguments(&self) -> Vec<String> {
        let verify = format!("{}/outcome", self.provider.url());
        let mut arguments = vec![
            "--lease",
            "1s",
            "--settles-within",
            "3s",
            "--verify",
            &verify,
        ];
        if let Some(database) = &self.database {
            arguments.extend(["--database", database]);
        }
        arguments.into_iter().map(str::to_owned).collect()
    }

    fn start(&self) -> Node {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        proxy(&self.folder, &self.provider, &arguments)
    }

    fn start_before(&self, upstream: &str) -> Node {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        proxy_before(&self.folder, upstream, &arguments)
    }

    /// Brings a proxy to this place and kills it there.
    async fn die_at(&self, place: Place) {
        let provider = &self.provider;
        match place {
            Place::BeforeCall => {
                let deaf = Deaf::listen().await;
                let node = self.start_before(&deaf.url());
                let asking = asking(&node);
                is_claimed(&node).await;
                kill(node, asking).await;
                assert_eq!(provider.calls(), 0);
            }
            Place::BeforeEffect | Place::EffectAfterDeath | Place::BeforeServiceAnswers => {
                provider.script([match place {
                    Place::BeforeEffect => Act::Hang,
                    Place::EffectAfterDeath => Act::ApplyLate(Duration::from_millis(2500)),
                    _ => Act::ApplyThenHang,
                }]);
                let node = self.start();
                let asking = asking(&node);
                let applied = u64::from(place == Place::BeforeServiceAnswers);
                until("the service is at that place", async || {
                    provider.calls() == 1 && provider.applied("k") == applied
                })
                .await;
                kill(node, asking).await;
                assert_eq!(provider.applied("k"), applied);
            }
            Place::BeforeStored => {
                provider.script([Act::AnswerLate(Duration::from_millis(500))]);
                let node = self.start();
                let asking = asking(&node);
                until("it has happened", async || provider.applied("k") == 1).await;
                let holder = Holder::of(self.database.as_deref(), self.folder.path());
                tokio::time::sleep(Duration::from_millis(1500)).await;
                kill(node, asking).await;
                drop(holder);
            }
            Place::BeforeClientReads => {
                let node = self.start();
                let unread = raw(&node.url(), "k").await;
                until("it is on record", async || {
                    told(&node).await.is(200, "replayed", "")
                })
                .await;
                node.kill();
                drop(unread);
            }
        }
    }

    /// What is on record of the request whose outcome nobody knows.
    fn a_person_sees_it(&self) {
        let mut arguments = vec!["requests", "list", "--key", "k"];
        if let Some(database) = &self.database {
            arguments.extend(["--database", database]);
        }
        let listed = tokio::task::block_in_place(|| self.folder.answer(&arguments));
        let state = listed["requests"][0]["state"].as_str();
        // Its lapse may not be written down yet, which due_at then says.
        assert!(matches!(state, Some("unknown" | "claimed")), "{listed}");
    }

    /// What the next proxy tells, while the service cannot be asked and then when it can.
    async fn after_death(&self, place: Place) {
        let provider = &self.provider;
        provider.witnesses(false);
        let node = self.start();
        let mut last = told(&node).await;
        if place != Place::BeforeClientReads {
            until("its lease is over", async || {
                last = told(&node).await;
                last.error != "outstanding"
            })
            .await;
            let is_unknown = last.is(409, "", "outcome-unknown");
            assert!(is_unknown, "honest-unknown: {place:?}: {last:?}");
            self.a_person_sees_it();
        }
        provider.witnesses(true);
        until("the service was asked", async || {
            last = told(&node).await;
            assert!(provider.applied("k") <= 1, "no-double-effect: {place:?}");
            last.error.is_empty()
        })
        .await;
        let never_happened = matches!(place, Place::BeforeCall | Place::BeforeEffect);
        let mark = if never_happened {
            "executed"
        } else {
            "replayed"
        };
        assert!(last.is(200, mark, ""), "{place:?}: {last:?}");
        // The effect is the first and only one, and this is its answer.
        assert_eq!(last.body, r#"{"effect":1}"#, "no-lost-intent: {place:?}");
        let again = told(&node).await;
        assert!(again.is(200, "replayed", ""), "{place:?}: {again:?}");
        assert_eq!(again.body, last.body, "one-outcome: {place:?}");
        let calls = if place == Place::BeforeEffect { 2 } else { 1 };
        assert_eq!((provider.calls(), provider.applied("k")), (calls, 1));
    }
}

fn asking(node: &Node) -> JoinHandle<Option<Told>> {
    let url = node.url();
    tokio::spawn(async move { ask(&client(), &url, "k").await })
}

async fn told(node: &Node) -> Told {
    ask(&client(), &node.url(), "k").await.unwrap()
}

/// Sees that the key of somebody who asked before is on record.
async fn is_claimed(node: &Node) {
    // Whoever comes first is the one that runs.
    tokio::time::sleep(Duration::from_millis(700)).await;
    let second = told(node).await;
    assert!(second.is(409, "", "outstanding"), "{second:?}");
}

/// Kills it while its client waits.
async fn kill(node: Node, asking: JoinHandle<Option<Told>>) {
    assert!(!asking.is_finished(), "the client was answered before");
    node.kill();
    assert_eq!(asking.await.unwrap(), None);
}

async fn killed_at(place: Place) {
    for database in [None, Some(postgres::database())] {
        let scene = Scene::new(database).await;
        scene.die_at(place).await;
        scene.after_death(place).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_claim_nothing_happened_and_the_key_comes_free() {
    killed_at(Place::BeforeCall).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_the_service_has_done_nothing_the_key_comes_free() {
    killed_at(Place::BeforeEffect).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_an_effect_that_comes_late_it_is_not_made_again() {
    killed_at(Place::EffectAfterDeath).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_effect_its_answer_is_found() {
    killed_at(Place::BeforeServiceAnswers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_answer_is_stored_it_is_found() {
    killed_at(Place::BeforeStored).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_client_reads_its_answer_it_is_replayed() {
    killed_at(Place::BeforeClientReads).await;
}
