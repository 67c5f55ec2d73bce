//! Those who append, all the time and side by side: transactions of a few messages, of which some roll back and some are open
//! for long before they commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Said;
use super::base::{Base, End};

const SIDE_BY_SIDE: usize = 4;
/// The rest of each between two transactions, at most.
const REST_MAX_MS: u64 = 150;

pub(super) struct Appenders {
    over: Arc<AtomicBool>,
    tasks: JoinSet<()>,
}

impl Appenders {
    pub(super) fn start(base: &Arc<Base>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let next = Arc::new(AtomicI64::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..SIDE_BY_SIDE {
            tasks.spawn(append(base.clone(), next.clone(), over.clone()));
        }
        Self { over, tasks }
    }

    /// Waits until what they began has ended.
    pub(super) async fn end(mut self) {
        self.over.store(true, Ordering::SeqCst);
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }
}

async fn append(base: Arc<Base>, next: Arc<AtomicI64>, over: Arc<AtomicBool>) {
    while !over.load(Ordering::SeqCst) {
        let messages: Vec<Said> = (0..fastrand::usize(1..5))
            .map(|_| {
                let key = match fastrand::u8(0..6) {
                    0 => String::new(),
                    key => format!("key-{key}"),
                };
                (key, next.fetch_add(1, Ordering::SeqCst))
            })
            .collect();
        let open_for = match fastrand::u8(0..8) {
            0 => Duration::from_millis(300),
            _ => Duration::from_millis(fastrand::u64(0..20)),
        };
        let end = match fastrand::u8(0..4) {
            0 => End::RollBack,
            _ => End::Commit,
        };
        base.append(messages, open_for, end).await;
        sleep(Duration::from_millis(fastrand::u64(0..REST_MAX_MS))).await;
    }
}
